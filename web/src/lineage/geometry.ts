import type { GraphEdge, GraphNode } from "../answers";

// Those of lakebed.ui.neighbourhood, which has chosen the heights of the boxes by them.
export const HEADER = 38;
export const ROW = 22;

/** Where an edge meets a box: beside its column, or beside the header. */
export function portY(node: GraphNode, column: string | null): number {
  const row = column === null ? -1 : node.columns.findIndex((one) => one.name === column);
  return node.y + (row < 0 ? HEADER / 2 : HEADER + row * ROW + ROW / 2);
}

export function edgePath(edge: GraphEdge, source: GraphNode, target: GraphNode): string {
  const y1 = portY(source, edge.source_column);
  const y2 = portY(target, edge.target_column);
  const x1 = source.x + source.width;
  const x2 = target.x;
  if (source === target || x2 < x1) {
    // against the reading direction: out to the right, around, and in from the left
    const reach = 50;
    const low = Math.max(source.y + source.height, target.y + target.height) + 22;
    return `M${x1},${y1} C${x1 + reach},${y1} ${x1 + reach},${low} ${(x1 + x2) / 2},${low} S${x2 - reach},${y2} ${x2},${y2}`;
  }
  const bend = Math.max(30, Math.min(160, (x2 - x1) / 2));
  return `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`;
}

/** Dashes by role; what is approximate is dashed whatever it does. */
export function dashes(edge: { role: string; approximate: boolean }): string | undefined {
  if (edge.approximate) return "7 5";
  switch (edge.role) {
    case "conditional":
      return "1 4";
    case "window":
      return "9 3 2 3";
    case "filter":
      return "2 2";
    case "join":
      return "4 2 1 2";
    default:
      return undefined;
  }
}
