import type { Address, Go, Mode } from "../address";
import { START } from "../address";

const MODES: [Mode, string][] = [
  ["graph", "Graph"],
  ["overview", "Overview"],
  ["list", "List"],
  ["matrix", "Matrix"],
];

export interface Exports {
  png(): void;
  svg(): void;
  mermaid(): void;
  link(): void;
}

export function Toolbar({ address, go, exports }: { address: Address; go: Go; exports: Exports | null }) {
  const steps = (name: "up" | "down", text: string) => (
    <span className="stepper" title={`steps ${text}`}>
      {name === "up" ? "◂" : ""}
      <button type="button" aria-label={`one step less ${text}`} onClick={() => go({ [name]: Math.max(0, address[name] - 1) })}>
        −
      </button>
      <span className="number">{address[name]}</span>
      <button type="button" aria-label={`one step more ${text}`} onClick={() => go({ [name]: address[name] + 1 })}>
        +
      </button>
      {name === "down" ? "▸" : ""}
    </span>
  );
  const touched =
    address.table.length > 0 || address.column !== "" || address.hidden.length > 0 || address.group !== "none";
  return (
    <div className="toolbar" role="toolbar" aria-label="view">
      <div className="tabs">
        {MODES.map(([mode, text]) => (
          <button type="button" key={mode} aria-pressed={address.mode === mode} onClick={() => go({ mode })}>
            {text}
          </button>
        ))}
      </div>
      <button type="button" aria-pressed={address.wide} title="the graph alone, or the SQL beside it" onClick={() => go({ wide: !address.wide })}>
        {address.wide ? "Show SQL" : "Hide SQL"}
      </button>
      {address.mode === "graph" && (
        <>
          {address.table.length > 0 && (
            <>
              {steps("up", "towards the sources")}
              {steps("down", "towards the readers")}
            </>
          )}
          <label>
            <input
              type="checkbox"
              id="predicates"
              checked={address.predicates}
              onChange={(event) => go({ predicates: event.target.checked })}
            />{" "}
            filters, joins
          </label>
          <select value={address.group} aria-label="group by" onChange={(event) => go({ group: event.target.value as Address["group"], opened: [] })}>
            <option value="none">no groups</option>
            <option value="folder">by folder</option>
            <option value="schema">by schema</option>
          </select>
          <select value={address.detail} aria-label="detail" onChange={(event) => go({ detail: event.target.value as Address["detail"] })}>
            <option value="auto">what fits</option>
            <option value="columns">with columns</option>
            <option value="tables">tables only</option>
          </select>
          {touched && (
            <button type="button" onClick={() => go({ ...START, page: "lineage", file: address.file, predicates: address.predicates, wide: address.wide })}>
              Show all
            </button>
          )}
          {address.hidden.length > 0 && (
            <button type="button" onClick={() => go({ hidden: [] })}>
              {address.hidden.length} hidden
            </button>
          )}
          {exports && (
            <details className="menu">
              <summary>Export</summary>
              <div>
                <button type="button" onClick={exports.png}>
                  PNG
                </button>
                <button type="button" onClick={exports.svg}>
                  SVG
                </button>
                <button type="button" onClick={exports.mermaid}>
                  Mermaid
                </button>
                <button type="button" onClick={exports.link}>
                  Copy link
                </button>
              </div>
            </details>
          )}
        </>
      )}
    </div>
  );
}
