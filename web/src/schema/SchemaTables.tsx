import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState } from "react";
import type { SchemaColumn, SchemaTable } from "../answers";
import { baseName, count, shorten } from "../names";

type Row = { kind: "table"; table: SchemaTable } | { kind: "column"; table: SchemaTable; column: SchemaColumn };

/** Tables with their columns below them, windowed: a schema of 5,000 columns scrolls like one of five. */
export function SchemaTables({
  tables,
  empty,
  onJump,
}: {
  tables: SchemaTable[];
  empty: string;
  onJump(table: SchemaTable): void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const [closed, setClosed] = useState<Set<string>>(new Set());
  const rows = useMemo<Row[]>(
    () =>
      tables.flatMap((table) => [
        { kind: "table" as const, table },
        ...(closed.has(table.name) ? [] : table.columns.map((column) => ({ kind: "column" as const, table, column }))),
      ]),
    [tables, closed],
  );
  const lines = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (row) => (rows[row]?.kind === "table" ? 40 : 26),
    overscan: 20,
  });
  if (tables.length === 0) return <div className="schema-tables empty"><p>{empty}</p></div>;
  return (
    <div className="schema-tables" ref={scroller} tabIndex={0} role="region" aria-label="tables">
      <div style={{ height: lines.getTotalSize(), position: "relative" }}>
        {lines.getVirtualItems().map((line) => {
          const row = rows[line.index];
          if (!row) return null;
          const style = { position: "absolute" as const, top: line.start, height: line.size };
          if (row.kind === "column") {
            return (
              <div key={line.key} className="schema-column" style={style} title={row.column.name}>
                <span className="column-name">{shorten(row.column.name, 60)}</span>
                <span className="type">
                  {row.column.type?.toLowerCase() ?? <span className="quiet">type not known</span>}
                  {row.column.inferred && <span className="badge" title="inferred from an expression">inferred</span>}
                </span>
                {row.column.origin && row.column.origin !== row.table.origin && <span className="badge">{row.column.origin}</span>}
              </div>
            );
          }
          const { table } = row;
          return (
            <div key={line.key} className="schema-table" style={style} data-table={table.name}>
              <button
                type="button"
                aria-expanded={!closed.has(table.name)}
                title={table.name}
                onClick={() => {
                  const next = new Set(closed);
                  if (!next.delete(table.name)) next.add(table.name);
                  setClosed(next);
                }}
              >
                {closed.has(table.name) ? "▸" : "▾"} {shorten(table.name, 60)}
              </button>
              <span className={`badge ${table.origin}`}>{table.origin}</span>
              {table.temporary && <span className="badge temporary" title="it ends with its session">temporary</span>}
              {!table.complete && <span className="badge doubt" title="a star of its definition could not be expanded">≈ incomplete</span>}
              {table.conflict && <span className="badge bad">conflict</span>}
              <span className="quiet">{count(table.columns.length, "column")}</span>
              {table.statement !== null && table.file && (
                <button type="button" className="link" title={`${table.file}:${table.line}`} onClick={() => onJump(table)}>
                  created in statement {table.statement + 1}, {baseName(table.file)}:{table.line}
                </button>
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}
