import { useState } from "react";
import type { Address, Go } from "./address";
import { useAsk } from "./ask";
import { baseName, count } from "./names";
import { Problem } from "./Problem";
import type { Source } from "./source";

const KINDS = ["column", "drop", "rename", "retype"] as const;
type Kind = (typeof KINDS)[number];
const WORDS: Record<Kind, string> = {
  column: "changes its values",
  drop: "is dropped",
  rename: "is renamed to",
  retype: "gets the type",
};

/** What a change reaches and breaks: the answer of `lakebed impact`. */
export function ImpactPage({ source, analysis, address, go }: { source: Source; analysis: string; address: Address; go: Go }) {
  const [subject = "", kindText = "column", to = ""] = address.tab.split("\u0001");
  const kind = KINDS.find((one) => one === kindText) ?? "column";
  const [name, setName] = useState(subject);
  const [next, setNext] = useState(to);
  const needsValue = kind === "rename" || kind === "retype";
  const ready = subject !== "" && (!needsValue || to !== "");
  const impact = useAsk(ready ? `impact ${analysis} ${address.tab}` : null, () =>
    source.impact(analysis, { [kind]: [needsValue ? `${subject}=${to}` : subject] }),
  );
  const ask = (change: { subject?: string; kind?: Kind; to?: string }) =>
    go({ tab: [change.subject ?? name, change.kind ?? kind, change.to ?? next].join("\u0001") });
  const found = ready ? impact.data : null;
  return (
    <div className="page">
      <header className="page-head">
        <h1>Impact</h1>
        <form
          className="impact-form"
          onSubmit={(event) => {
            event.preventDefault();
            ask({});
          }}
        >
          <input aria-label="column or table" placeholder="table.column" value={name} onChange={(event) => setName(event.target.value)} />
          <select aria-label="change" value={kind} onChange={(event) => ask({ kind: event.target.value as Kind })}>
            {KINDS.map((one) => (
              <option key={one} value={one}>
                {WORDS[one]}
              </option>
            ))}
          </select>
          {needsValue && (
            <input aria-label={kind === "rename" ? "new name" : "new type"} value={next} onChange={(event) => setNext(event.target.value)} />
          )}
          <button type="submit" className="primary">
            Show
          </button>
        </form>
      </header>
      <div className="page-body" tabIndex={0} role="region" aria-label="what is reached">
        {impact.error && ready && <Problem error={impact.error} />}
        {!ready && (
          <div className="empty">
            <h2>What would a change reach?</h2>
            <p>Name a column, as in <code>orders.amount</code>, or a table; or pick a column in the lineage.</p>
          </div>
        )}
        {found && !impact.error && (
          <>
            {kind !== "column" && (
              <section>
                <h2 className={found.breaking ? "bad-text" : ""}>{found.breaks.length ? `breaks ${count(found.breaks.length, "statement")}` : "breaks nothing"}</h2>
                <ul className="breaks">
                  {found.breaks.map((one, number) => (
                    <li key={number}>
                      <span className="badge bad">✕</span>
                      <span title={one.file ?? ""}>
                        {baseName(one.file ?? "script")}:{one.line}
                      </span>{" "}
                      {one.reason} <span className="quiet">{one.roles.join(", ")}</span>
                    </li>
                  ))}
                </ul>
              </section>
            )}
            <section>
              <h2>{found.reached.length ? `reaches ${count(found.reached.length, "column")}` : "reaches nothing"}</h2>
              <ul className="paths">
                {found.reached.slice(0, 500).map((one, number) => (
                  <li key={number}>
                    <button
                      type="button"
                      className="link"
                      onClick={() =>
                        one.table &&
                        go({
                          page: "lineage",
                          mode: "graph",
                          table: one.column ? [] : [one.table],
                          column_table: one.column ? one.table : "",
                          column: one.column ?? "",
                          only: one.column !== null,
                          tab: "",
                        })
                      }
                    >
                      {one.path.at(-1)}
                    </button>
                    <span className="badge">{one.role}</span>
                    {one.approximate && <span className="badge doubt">≈</span>}
                    <span className="quiet path" title={one.path.join(" → ")}>
                      {one.path.join(" → ")}
                    </span>
                    <span className="quiet" title={one.file ?? ""}>
                      {baseName(one.file ?? "script")}:{one.line}
                    </span>
                  </li>
                ))}
                {found.reached.length > 500 && <li className="quiet">and {found.reached.length - 500} more: `lakebed impact` lists them all</li>}
              </ul>
            </section>
            {found.unknown.length > 0 && (
              <section>
                <h2>could not be analysed, and may be reached too</h2>
                <ul>
                  {found.unknown.map((one, number) => (
                    <li key={number}>
                      {one.file}:{one.line}
                    </li>
                  ))}
                </ul>
              </section>
            )}
          </>
        )}
      </div>
    </div>
  );
}
