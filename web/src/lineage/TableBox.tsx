import type { Node, NodeProps } from "@xyflow/react";
import { memo } from "react";
import type { GraphNode } from "../answers";
import { shorten } from "../names";

export interface BoxActions {
  pick(table: string, column: string): void;
  focus(table: string, file: string | null): void;
  hide(table: string): void;
  expand(table: string): void;
  whole(table: string): void;
  collapse(table: string): void;
  growUp(table: string): void;
  growDown(table: string): void;
  open(group: string): void;
}

export type TableNode = Node<{ node: GraphNode; faded: boolean; focused: boolean; open: boolean; actions: BoxActions }>;

// Characters that a row has room for; a type that does not fit is in the tooltip.
const LONGEST = 26;

const KINDS: Record<string, string> = {
  table: "table",
  view: "view",
  output: "result",
  group: "group",
};

export const TableBox = memo(function TableBox({ data }: NodeProps<TableNode>) {
  const { node, actions } = data;
  const group = node.kind === "group";
  const classes = ["table", node.kind];
  if (data.faded) classes.push("faded");
  if (data.focused) classes.push("focused");
  if (node.resolution === "unknown") classes.push("unknown");
  return (
    <div className={classes.join(" ")} data-table={node.id} style={{ width: node.width, height: node.height }}>
      <div className="table-head">
        <button
          type="button"
          className="table-name nodrag"
          title={node.label}
          onClick={() => (group ? actions.open(node.label) : actions.focus(node.id, node.file))}
        >
          {shorten(node.label, node.temporary || node.resolution === "unknown" ? 15 : 19)}
        </button>
        <span className="badges">
          {node.temporary && (
            <span className="badge temporary" title="temporary: it ends with its session">
              temp
            </span>
          )}
          {node.resolution === "unknown" && (
            <span className="badge doubt" title="nothing is known about its columns">
              ?
            </span>
          )}
          <span className="kind">{KINDS[node.kind] ?? node.kind}</span>
        </span>
        {!group && (
          <button type="button" className="hide nodrag" title="hide" aria-label={`hide ${node.label}`} onClick={() => actions.hide(node.id)}>
            ×
          </button>
        )}
      </div>
      {group && <div className="more">{node.members} tables: click the name to open</div>}
      {node.columns.map((column) => (
        <button
          type="button"
          key={column.name}
          className={`column nodrag ${column.mark ?? ""} ${column.used ? "" : "unused"}`}
          data-column={column.name}
          title={`${node.label}.${column.name}${column.type ? ` ${column.type}` : ""}`}
          aria-pressed={column.mark === "picked"}
          onClick={() => actions.pick(node.id, column.name)}
        >
          <span className="column-name">{shorten(column.name, LONGEST)}</span>
          {column.type && column.name.length + column.type.length <= LONGEST && <span className="type">{column.type.toLowerCase()}</span>}
        </button>
      ))}
      {!group && node.more_used > 0 && (
        <button type="button" className="more nodrag" onClick={() => actions.expand(node.id)}>
          {node.more_used} more in use
        </button>
      )}
      {!group && node.more_used === 0 && node.more_known > 0 && (
        <button type="button" className="more nodrag" onClick={() => actions.whole(node.id)}>
          {node.more_known} more, not in use
        </button>
      )}
      {node.more_up > 0 && (
        <button
          type="button"
          className="grow grow-up nodrag"
          title={`show ${node.more_up} more that it reads`}
          aria-label={`show ${node.more_up} more tables that ${node.label} reads`}
          onClick={() => actions.growUp(node.id)}
        >
          +{node.more_up}
        </button>
      )}
      {node.more_down > 0 && (
        <button
          type="button"
          className="grow grow-down nodrag"
          title={`show ${node.more_down} more that read it`}
          aria-label={`show ${node.more_down} more tables that read ${node.label}`}
          onClick={() => actions.growDown(node.id)}
        >
          +{node.more_down}
        </button>
      )}
      {data.open && (
        <button type="button" className="collapse nodrag" title="fewer columns" aria-label={`fewer columns of ${node.label}`} onClick={() => actions.collapse(node.id)}>
          −
        </button>
      )}
    </div>
  );
});
