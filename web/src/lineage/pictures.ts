/** What the graph shows, as SVG, PNG or Mermaid: drawn from the data, so that no screenshot of the page is needed. */

import type { GraphNode, Neighbourhood } from "../answers";
import { downloadBlob, downloadText } from "../download";
import { shorten } from "../names";
import { HEADER, ROW, dashes, edgePath } from "./geometry";

const MARGIN = 30;

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

function colours(): (name: string) => string {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(name).trim();
}

export function toSvg(part: Neighbourhood): string {
  const colour = colours();
  const width = Math.max(0, ...part.nodes.map((node) => node.x + node.width)) + 2 * MARGIN;
  const height = Math.max(0, ...part.nodes.map((node) => node.y + node.height)) + 2 * MARGIN + 30;
  const nodes = new Map(part.nodes.map((node) => [node.id, node]));
  const tones: Record<string, string> = { up: colour("--up"), down: colour("--down") };
  const edges = part.edges.map((edge) => {
    const [source, target] = [nodes.get(edge.source), nodes.get(edge.target)];
    if (!source || !target) return "";
    const dash = dashes(edge);
    const tone = tones[edge.mark ?? ""] ?? colour("--line-strong");
    return `<path d="${edgePath(edge, source, target)}" fill="none" stroke="${tone}" stroke-width="1.5"${dash ? ` stroke-dasharray="${dash}"` : ""}/>`;
  });
  const boxes = part.nodes.map((node) => box(node, colour));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="${colour("--canvas")}"/>`,
    `<g transform="translate(${MARGIN},${MARGIN})">`,
    ...edges,
    ...boxes,
    "</g></svg>",
  ].join("\n");
}

function box(node: GraphNode, colour: (name: string) => string): string {
  const rows = node.columns.map((column, row) => {
    const tone = column.mark === "up" ? "--up" : column.mark === "down" ? "--down" : column.mark ? "--accent" : "--ink";
    const y = node.y + HEADER + row * ROW + 15;
    return `<text x="${node.x + 10}" y="${y}" fill="${colour(tone)}"${column.mark ? ' font-weight="600"' : ""}>${escape(shorten(column.name, 30))}</text>`;
  });
  const more = node.more_used + node.more_known;
  if (more > 0 && node.columns.length > 0) {
    rows.push(
      `<text x="${node.x + 10}" y="${node.y + HEADER + node.columns.length * ROW + 15}" fill="${colour("--ink-quiet")}">${more} more</text>`,
    );
  }
  return [
    `<rect x="${node.x}" y="${node.y}" width="${node.width}" height="${node.height}" rx="6" fill="${colour("--box")}" stroke="${colour("--line-strong")}"/>`,
    `<text x="${node.x + 10}" y="${node.y + 24}" fill="${colour("--ink")}" font-weight="600" font-size="13">${escape(shorten(node.label, 25))}</text>`,
    ...rows,
  ].join("\n");
}

export function downloadSvg(part: Neighbourhood): void {
  downloadText("lineage.svg", "image/svg+xml", toSvg(part));
}

export async function downloadPng(part: Neighbourhood): Promise<void> {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([toSvg(part)], { type: "image/svg+xml" }));
  try {
    await new Promise<void>((done, fail) => {
      image.onload = () => done();
      image.onerror = () => fail(new Error("the picture cannot be drawn"));
      image.src = address;
    });
    // browsers refuse canvases that are too large
    const scale = Math.min(2, 16_000 / image.width, 16_000 / image.height);
    const canvas = document.createElement("canvas");
    canvas.width = image.width * scale;
    canvas.height = image.height * scale;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
    if (blob) downloadBlob("lineage.png", blob);
  } finally {
    URL.revokeObjectURL(address);
  }
}

export function toMermaid(part: Neighbourhood): string {
  const quoted = (text: string) => `"${escape(text).replaceAll("\n", " ")}"`;
  const ids = new Map<string, string>();
  const lines = ["flowchart LR"];
  part.nodes.forEach((node, number) => {
    const key = `t${number}`;
    ids.set(JSON.stringify([node.id, null]), key);
    if (node.columns.length === 0) {
      lines.push(`  ${key}[${quoted(node.label)}]`);
      return;
    }
    lines.push(`  subgraph ${key}[${quoted(node.label)}]`);
    node.columns.forEach((column, row) => {
      ids.set(JSON.stringify([node.id, column.name]), `${key}c${row}`);
      lines.push(`    ${key}c${row}[${quoted(column.name)}]`);
    });
    lines.push("  end");
  });
  const drawn = new Set<string>();
  for (const edge of part.edges) {
    const source = ids.get(JSON.stringify([edge.source, edge.source_column]));
    const target = ids.get(JSON.stringify([edge.target, edge.target_column]));
    if (!source || !target) continue;
    const label = edge.role === "value" || edge.role === "table" ? "" : `|${edge.role}|`;
    drawn.add(`  ${source} ${edge.approximate ? "-.->" : "-->"}${label} ${target}`);
  }
  return `${[...lines, ...drawn].join("\n")}\n`;
}
