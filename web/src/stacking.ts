/** Places boxes whose layers and order are known: in a page that stands alone, parts of the layout that Python made. */

import type { GraphEdge, GraphNode } from "./answers";

const LAYER_GAP = 72;
const BOX_GAP = 24;

export function stack(nodes: GraphNode[], edges: GraphEdge[]): void {
  const used = [...new Set(nodes.map((node) => node.layer))].sort((a, b) => a - b);
  const layers = used.map((layer) => nodes.filter((node) => node.layer === layer).sort((a, b) => a.y - b.y || (a.id < b.id ? -1 : 1)));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const beside = new Map<string, { up: Set<GraphNode>; down: Set<GraphNode> }>(nodes.map((node) => [node.id, { up: new Set(), down: new Set() }]));
  for (const edge of edges) {
    const [source, target] = [byId.get(edge.source), byId.get(edge.target)];
    if (!source || !target || source.layer >= target.layer) continue;
    beside.get(source.id)?.down.add(target);
    beside.get(target.id)?.up.add(source);
  }
  let x = 0;
  layers.forEach((layer, number) => {
    let y = 0;
    for (const node of layer) {
      node.layer = number;
      node.x = x;
      node.y = y;
      y += node.height + BOX_GAP;
    }
    x += Math.max(...layer.map((node) => node.width)) + LAYER_GAP;
  });
  for (let sweep = 0; sweep < 4; sweep += 1) {
    const side = sweep % 2 === 0 ? "up" : "down";
    for (const layer of side === "up" ? layers : [...layers].reverse()) pull(layer, (node) => [...(beside.get(node.id)?.[side] ?? [])]);
  }
  const top = Math.min(0, ...nodes.map((node) => node.y));
  for (const node of nodes) node.y -= top;
}

/** Boxes move to the middle of their neighbours; those that would cover each other move as one block. */
function pull(layer: GraphNode[], neighbours: (node: GraphNode) => GraphNode[]): void {
  const blocks: { start: number; many: number }[] = [];
  const offsets: number[] = [];
  let offset = 0;
  for (const node of layer) {
    const near = neighbours(node);
    const middle = near.length ? near.reduce((sum, one) => sum + one.y + one.height / 2, 0) / near.length : node.y + node.height / 2;
    let block = { start: middle - node.height / 2 - offset, many: 1 };
    for (let last = blocks.at(-1); last && last.start >= block.start; last = blocks.at(-1)) {
      blocks.pop();
      const many = last.many + block.many;
      block = { start: (last.start * last.many + block.start * block.many) / many, many };
    }
    blocks.push(block);
    offsets.push(offset);
    offset += node.height + BOX_GAP;
  }
  let place = 0;
  for (const { start, many } of blocks) {
    for (let number = 0; number < many; number += 1) {
      const node = layer[place];
      if (node) node.y = Math.round(start) + (offsets[place] ?? 0);
      place += 1;
    }
  }
}
