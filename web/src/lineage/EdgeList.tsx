import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import type { EdgeRow } from "../answers";
import { downloadText, toCsv } from "../download";
import { baseName, count, shorten } from "../names";
import type { EdgeQuery, Source } from "../source";

const PAGE = 200;
const HEADINGS: [EdgeQuery["sort"], string][] = [
  ["source", "from"],
  ["target", "to"],
  ["role", "role"],
  ["statement", "statement"],
];

/** Every edge as a row; rows are fetched as they come into sight. */
export function EdgeList({
  source,
  analysis,
  search,
  onRow,
}: {
  source: Source;
  analysis: string;
  search: string;
  onRow(row: EdgeRow): void;
}) {
  const [sort, setSort] = useState<EdgeQuery["sort"]>("statement");
  const [descending, setDescending] = useState(false);
  const [rows, setRows] = useState<(EdgeRow | undefined)[]>([]);
  const [total, setTotal] = useState<number | null>(null);
  const asked = useRef(new Set<number>());
  const generation = useRef(0);
  const scroller = useRef<HTMLDivElement>(null);
  const lines = useVirtualizer({ count: total ?? 0, getScrollElement: () => scroller.current, estimateSize: () => 28, overscan: 20 });

  const load = (page: number) => {
    if (asked.current.has(page)) return;
    asked.current.add(page);
    const mine = generation.current;
    void source.edges(analysis, { search, sort, descending, offset: page * PAGE, limit: PAGE }).then((found) => {
      if (mine !== generation.current) return;
      setTotal(found.total);
      setRows((before) => {
        const next = before.slice();
        found.rows.forEach((row, place) => {
          next[page * PAGE + place] = row;
        });
        return next;
      });
    });
  };
  useEffect(() => {
    generation.current += 1;
    asked.current = new Set();
    setRows([]);
    load(0);
  }, [analysis, search, sort, descending]);
  const visible = lines.getVirtualItems();
  const last = visible.at(-1)?.index ?? 0;
  const first = visible[0]?.index ?? 0;
  useEffect(() => {
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page += 1) load(page);
  });

  const exportCsv = async () => {
    const all: EdgeRow[] = [];
    while (true) {
      const found = await source.edges(analysis, { search, sort, descending, offset: all.length, limit: 2000 });
      all.push(...found.rows);
      if (all.length >= found.total || found.rows.length === 0) break;
    }
    const header = ["source", "source_column", "target", "target_column", "role", "approximate", "statement", "file"];
    const body = all.map((row) => [row.source, row.source_column, row.target, row.target_column, row.role, row.approximate, row.statement, row.file]);
    downloadText("edges.csv", "text/csv", toCsv([header, ...body]));
  };

  return (
    <div className="list-pane">
      <div className="list-bar">
        <span>{total === null ? "…" : count(total, "edge")}</span>
        <button type="button" onClick={() => void exportCsv()}>
          CSV
        </button>
      </div>
      <div className="grid" role="table" aria-label="edges" aria-rowcount={total ?? 0}>
        <div className="grid-head" role="row">
          {HEADINGS.map(([key, text]) => (
            <div key={key} role="columnheader" aria-sort={sort === key ? (descending ? "descending" : "ascending") : "none"}>
              <button
                type="button"
                onClick={() => {
                  setDescending(sort === key ? !descending : false);
                  setSort(key);
                }}
              >
                {text} {sort === key ? (descending ? "▾" : "▴") : ""}
              </button>
            </div>
          ))}
        </div>
        <div className="grid-body" ref={scroller} tabIndex={0} role="rowgroup">
          <div role="presentation" style={{ height: lines.getTotalSize(), position: "relative" }}>
            {visible.map((line) => {
              const row = rows[line.index];
              return (
                <div
                  key={line.key}
                  role="row"
                  tabIndex={0}
                  className="grid-row"
                  aria-rowindex={line.index + 1}
                  style={{ position: "absolute", top: line.start, height: line.size }}
                  onClick={() => row && onRow(row)}
                  onKeyDown={(event) => event.key === "Enter" && row && onRow(row)}
                >
                  {row && (
                    <>
                      <span role="cell" title={`${row.source}.${row.source_column ?? ""}`}>
                        {end(row.source, row.source_column)}
                      </span>
                      <span role="cell" title={`${row.target}.${row.target_column ?? ""}`}>
                        {end(row.target, row.target_column)}
                      </span>
                      <span role="cell">
                        {row.role}
                        {row.approximate && <span className="badge doubt">≈</span>}
                      </span>
                      <span role="cell" className="quiet" title={row.file ?? ""}>
                        {row.statement + 1}
                        {row.file && ` · ${baseName(row.file)}`}
                      </span>
                    </>
                  )}
                </div>
              );
            })}
          </div>
        </div>
      </div>
    </div>
  );
}

function end(table: string, column: string | null): string {
  return shorten(column === null ? table : `${table}.${column}`, 52);
}
