import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import type { Matrix } from "../answers";
import { shorten } from "../names";

const CELL = 24;
const LABEL = 220;

/** Tables against tables: a row is read, a column reads it. Both directions are windowed. */
export function MatrixPane({
  matrix,
  onCell,
}: {
  matrix: Matrix;
  onCell(source: string, target: string): void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const cells = useMemo(() => {
    const found = new Map<number, Map<number, [number, boolean]>>();
    for (const [row, column, links, approximate] of matrix.cells) {
      const line = found.get(row) ?? new Map<number, [number, boolean]>();
      line.set(column, [links, approximate === 1]);
      found.set(row, line);
    }
    return found;
  }, [matrix]);
  const options = { getScrollElement: () => scroller.current, estimateSize: () => CELL, overscan: 10 };
  const rows = useVirtualizer({ ...options, count: matrix.tables.length, scrollPaddingStart: 160 });
  const columns = useVirtualizer({ ...options, count: matrix.tables.length, horizontal: true });
  return (
    <div className="matrix" ref={scroller} tabIndex={0} role="region" aria-label="tables against tables">
      <div style={{ height: rows.getTotalSize() + 160, width: columns.getTotalSize() + LABEL, position: "relative" }}>
        <div className="matrix-head" style={{ width: columns.getTotalSize() + LABEL }}>
          <span className="matrix-corner">
            read ↓ by →
          </span>
          {columns.getVirtualItems().map((column) => (
            <span key={column.key} className="matrix-column" style={{ left: LABEL + column.start }} title={matrix.tables[column.index]}>
              {shorten(matrix.tables[column.index] ?? "", 22)}
            </span>
          ))}
        </div>
        {rows.getVirtualItems().map((row) => (
          <div key={row.key} className="matrix-row" style={{ top: row.start + 160, height: CELL, width: columns.getTotalSize() + LABEL }}>
            <span className="matrix-label" title={matrix.tables[row.index]}>
              {shorten(matrix.tables[row.index] ?? "", 30)}
            </span>
            {columns.getVirtualItems().map((column) => {
              const cell = cells.get(row.index)?.get(column.index);
              const source = matrix.tables[row.index] ?? "";
              const target = matrix.tables[column.index] ?? "";
              return cell ? (
                <button
                  type="button"
                  key={column.key}
                  className={`matrix-cell ${cell[1] ? "doubt" : ""}`}
                  style={{ left: LABEL + column.start }}
                  title={`${source} → ${target}: ${cell[0] ? `${cell[0]} columns` : "no column is known"}${cell[1] ? ", approximate" : ""}`}
                  onClick={() => onCell(source, target)}
                >
                  {cell[0] > 99 ? "99+" : cell[0] || "≈"}
                </button>
              ) : null;
            })}
          </div>
        ))}
      </div>
    </div>
  );
}
