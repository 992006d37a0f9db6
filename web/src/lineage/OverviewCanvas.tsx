import { useEffect, useRef, useState } from "react";
import type { Overview } from "../answers";
import { shorten } from "../names";

const WIDTH = 150;
const HEIGHT = 22;

interface Camera {
  x: number;
  y: number;
  zoom: number;
}

/** Every table on one canvas: ten thousand boxes are drawn in a frame, and a click leads to one. */
export function OverviewCanvas({
  overview,
  found,
  onTable,
}: {
  overview: Overview;
  found: Set<string>;
  onTable(table: string): void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const camera = useRef<Camera | null>(null);
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const [hover, setHover] = useState<{ name: string; x: number; y: number } | null>(null);
  const frame = useRef(0);

  const draw = () => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      const element = canvas.current;
      if (element) camera.current = paint(element, overview, found, camera.current);
    });
  };
  useEffect(() => {
    camera.current = null;
    draw();
  }, [overview]);
  useEffect(() => {
    draw();
    const element = canvas.current;
    if (!element) return;
    const sized = new ResizeObserver(draw);
    sized.observe(element);
    // passive listeners may not stop the page from scrolling
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const box = element.getBoundingClientRect();
      zoomAt(event.clientX - box.left, event.clientY - box.top, Math.exp(-event.deltaY / 500));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      sized.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  });

  const zoomAt = (x: number, y: number, factor: number) => {
    const now = camera.current;
    if (!now) return;
    const zoom = Math.min(3, Math.max(0.005, now.zoom * factor));
    camera.current = { zoom, x: x - ((x - now.x) * zoom) / now.zoom, y: y - ((y - now.y) * zoom) / now.zoom };
    draw();
  };
  const at = (event: React.MouseEvent): number => {
    const now = camera.current;
    const box = canvas.current?.getBoundingClientRect();
    if (!now || !box) return -1;
    const x = (event.clientX - box.left - now.x) / now.zoom;
    const y = (event.clientY - box.top - now.y) / now.zoom;
    return overview.places.findIndex(([left, top]) => x >= left && x <= left + WIDTH && y >= top && y <= top + HEIGHT);
  };
  return (
    <div className="overview">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`overview of ${overview.names.length} tables; the list and the search show them as text`}
        onMouseDown={(event) => {
          drag.current = { x: event.clientX, y: event.clientY, moved: false };
        }}
        onMouseMove={(event) => {
          const from = drag.current;
          if (from && camera.current) {
            const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
            if (!from.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
            camera.current = { ...camera.current, x: camera.current.x + dx, y: camera.current.y + dy };
            drag.current = { x: event.clientX, y: event.clientY, moved: true };
            draw();
            return;
          }
          const name = overview.names[at(event)];
          const box = canvas.current?.getBoundingClientRect();
          setHover(name === undefined || !box ? null : { name, x: event.clientX - box.left, y: event.clientY - box.top });
        }}
        onMouseUp={(event) => {
          const moved = drag.current?.moved;
          drag.current = null;
          const name = overview.names[at(event)];
          if (!moved && name !== undefined) onTable(name);
        }}
        onMouseLeave={() => {
          drag.current = null;
          setHover(null);
        }}
        onKeyDown={(event) => {
          const now = camera.current;
          const element = canvas.current;
          if (!now || !element) return;
          const moves: Record<string, [number, number]> = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
          const move = moves[event.key];
          if (move) camera.current = { ...now, x: now.x + move[0], y: now.y + move[1] };
          else if (event.key === "+") zoomAt(element.clientWidth / 2, element.clientHeight / 2, 1.3);
          else if (event.key === "-") zoomAt(element.clientWidth / 2, element.clientHeight / 2, 1 / 1.3);
          else if (event.key === "0") camera.current = null;
          else return;
          event.preventDefault();
          draw();
        }}
      />
      {hover && (
        <div className="hover" style={{ left: hover.x + 12, top: hover.y + 12 }}>
          {hover.name}
        </div>
      )}
    </div>
  );
}

function paint(element: HTMLCanvasElement, overview: Overview, found: Set<string>, before: Camera | null): Camera {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [element.clientWidth, element.clientHeight];
  if (element.width !== width * ratio || element.height !== height * ratio) {
    element.width = width * ratio;
    element.height = height * ratio;
  }
  const fitted = Math.min(1.2, (width - 40) / Math.max(1, overview.width), (height - 40) / Math.max(1, overview.height));
  const now = before ?? {
    zoom: fitted,
    x: (width - overview.width * fitted) / 2,
    y: (height - overview.height * fitted) / 2,
  };
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const context = element.getContext("2d");
  if (!context) return now;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const sx = (x: number) => now.x + x * now.zoom;
  const sy = (y: number) => now.y + y * now.zoom;
  const outside = (x1: number, y1: number, x2: number, y2: number) =>
    Math.max(x1, x2) < 0 || Math.min(x1, x2) > width || Math.max(y1, y2) < 0 || Math.min(y1, y2) > height;
  context.strokeStyle = colour("--line-strong");
  context.globalAlpha = overview.edges.length > 3000 ? 0.35 : 0.6;
  context.lineWidth = 0.75;
  context.beginPath();
  for (const [from, to] of overview.edges) {
    const a = overview.places[from];
    const b = overview.places[to];
    if (!a || !b) continue;
    const [x1, y1, x2, y2] = [sx(a[0] + WIDTH), sy(a[1] + HEIGHT / 2), sx(b[0]), sy(b[1] + HEIGHT / 2)];
    if (outside(x1, y1, x2, y2)) continue;
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
  }
  context.stroke();
  context.globalAlpha = 1;
  const named = now.zoom > 0.45;
  context.font = `${Math.max(9, 11 * now.zoom)}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  const fills: Record<string, string> = {
    table: colour("--box"),
    view: colour("--box-view"),
    output: colour("--box-output"),
  };
  const [line, ink, accent] = [colour("--line-strong"), colour("--ink"), colour("--accent")];
  overview.places.forEach(([left, top], number) => {
    const [x, y, w, h] = [sx(left), sy(top), Math.max(2, WIDTH * now.zoom), Math.max(1.5, HEIGHT * now.zoom)];
    if (outside(x, y, x + w, y + h)) return;
    const name = overview.names[number] ?? "";
    const hit = found.has(name);
    context.fillStyle = hit ? accent : named ? (fills[overview.kinds[number] ?? ""] ?? colour("--box")) : line;
    context.fillRect(x, y, w, h);
    if (named) {
      context.strokeStyle = line;
      context.strokeRect(x, y, w, h);
      context.fillStyle = hit ? colour("--surface") : ink;
      context.fillText(shorten(name, 24), x + 6 * now.zoom, y + h / 2, w - 10 * now.zoom);
    }
  });
  return now;
}
