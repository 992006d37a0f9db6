import {
  Controls,
  MiniMap,
  ReactFlow,
  ReactFlowProvider,
  ViewportPortal,
  useReactFlow,
} from "@xyflow/react";
import { memo, useEffect, useMemo } from "react";
import type { GraphEdge, Neighbourhood } from "../answers";
import { ROLES } from "../names";
import { type BoxActions, TableBox, type TableNode } from "./TableBox";
import { dashes, edgePath } from "./geometry";

const TYPES = { table: TableBox };
const NONE: never[] = [];

export interface GraphProps {
  part: Neighbourhood;
  focused: string[];
  open: string[];
  picked: boolean;
  edge: GraphEdge | null;
  actions: BoxActions;
  onEdge(edge: GraphEdge): void;
  onBackground(): void;
  /** changes when the view should be fitted anew */
  fit: string;
}

const Edges = memo(function Edges({
  part,
  picked,
  chosen,
  onEdge,
}: {
  part: Neighbourhood;
  picked: boolean;
  chosen: string | null;
  onEdge(edge: GraphEdge): void;
}) {
  const nodes = useMemo(() => new Map(part.nodes.map((node) => [node.id, node])), [part]);
  const drawn = part.edges.map((edge) => {
    const source = nodes.get(edge.source);
    const target = nodes.get(edge.target);
    if (!source || !target) return null;
    const path = edgePath(edge, source, target);
    const classes = ["edge", edge.role, edge.mark ?? "", edge.approximate ? "doubt" : ""];
    if (picked && !edge.mark) classes.push("faded");
    if (chosen === edge.id) classes.push("chosen");
    const from = edge.source_column ? `${edge.source}.${edge.source_column}` : edge.source;
    const to = edge.target_column ? `${edge.target}.${edge.target_column}` : edge.target;
    return (
      <g key={`${edge.id}${edge.mark ?? ""}`}>
        <path className={classes.join(" ")} d={path} strokeDasharray={dashes(edge)} />
        <path
          className="edge-hit"
          d={path}
          data-edge={edge.id}
          onClick={(event) => {
            event.stopPropagation();
            onEdge(edge);
          }}
        >
          <title>{`${from} ${ROLES[edge.role] ?? edge.role}: ${to}${edge.approximate ? " (approximate)" : ""}`}</title>
        </path>
      </g>
    );
  });
  return (
    <ViewportPortal>
      <svg className="edges" aria-hidden="true">
        {drawn}
      </svg>
    </ViewportPortal>
  );
});

function Flow(props: GraphProps) {
  const { part, picked, actions } = props;
  const flow = useReactFlow();
  const nodes = useMemo<TableNode[]>(
    () =>
      part.nodes.map((node) => ({
        id: node.id,
        type: "table",
        position: { x: node.x, y: node.y },
        width: node.width,
        height: node.height,
        measured: { width: node.width, height: node.height },
        ariaLabel: `${node.kind} ${node.label}`,
        data: {
          node,
          faded: picked && !node.mark,
          focused: props.focused.includes(node.id),
          open: props.open.includes(node.id),
          actions,
        },
      })),
    [part, picked, actions, props.focused, props.open],
  );
  useEffect(() => {
    const frame = requestAnimationFrame(() => void flow.fitView({ padding: 0.07, maxZoom: 1.1, minZoom: 0.1 }));
    return () => cancelAnimationFrame(frame);
  }, [flow, props.fit]);
  return (
    <ReactFlow
      nodes={nodes}
      edges={NONE}
      nodeTypes={TYPES}
      nodesDraggable={false}
      nodesConnectable={false}
      nodesFocusable={false}
      elementsSelectable={false}
      minZoom={0.05}
      maxZoom={2}
      fitView
      fitViewOptions={{ padding: 0.07, maxZoom: 1.1 }}
      onlyRenderVisibleElements={part.nodes.length > 150}
      onPaneClick={props.onBackground}
      proOptions={{ hideAttribution: true }}
      aria-label="lineage graph"
    >
      <Edges part={part} picked={picked} chosen={props.edge?.id ?? null} onEdge={props.onEdge} />
      <Controls showInteractive={false} position="bottom-left" />
      {part.nodes.length > 6 && (
        <MiniMap pannable zoomable position="bottom-right" ariaLabel="overview of this part" nodeBorderRadius={3} />
      )}
    </ReactFlow>
  );
}

export function Graph(props: GraphProps) {
  return (
    <ReactFlowProvider>
      <Flow {...props} />
    </ReactFlowProvider>
  );
}
