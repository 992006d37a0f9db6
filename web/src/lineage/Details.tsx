import type { Diagnostic, EdgePlace, GraphEdge, Neighbourhood, ReachedColumn } from "../answers";
import { ROLES, baseName, count, shorten } from "../names";

const MOST = 200;

function Reached({ columns, onPick }: { columns: ReachedColumn[]; onPick(table: string, column: string): void }) {
  return (
    <ul className="reached">
      {columns.slice(0, MOST).map((one) => (
        <li key={`${one.table}\0${one.column}`}>
          <button type="button" title={`${one.table}.${one.column}`} onClick={() => onPick(one.table, one.column)}>
            {shorten(`${one.table}.${one.column}`, 44)}
          </button>
          <span className="quiet">
            {one.distance === 1 ? "directly" : `${one.distance} steps`}
            {one.approximate && <span className="badge doubt" title="approximate">≈</span>}
          </span>
        </li>
      ))}
      {columns.length > MOST && <li className="quiet">and {columns.length - MOST} more</li>}
    </ul>
  );
}

export function ColumnDetails({
  table,
  column,
  part,
  only,
  onPick,
  onOnly,
  onImpact,
}: {
  table: string;
  column: string;
  part: Neighbourhood;
  only: boolean;
  onPick(table: string, column: string): void;
  onOnly(only: boolean): void;
  onImpact: (() => void) | null;
}) {
  const type = part.nodes.find((node) => node.id === table)?.columns.find((one) => one.name === column)?.type;
  return (
    <section aria-label="picked column">
      <h2 title={`${table}.${column}`}>
        {shorten(`${table}.${column}`, 60)}
        {type && <span className="type">{type.toLowerCase()}</span>}
      </h2>
      <div className="actions">
        <label>
          <input type="checkbox" checked={only} onChange={(event) => onOnly(event.target.checked)} /> only its paths
        </label>
        {onImpact && (
          <button type="button" onClick={onImpact}>
            What would a change break?
          </button>
        )}
      </div>
      <div className="sides">
        <div>
          <h3 className="up-title">◂ comes from {count(part.upstream.length, "column")}</h3>
          <Reached columns={part.upstream} onPick={onPick} />
        </div>
        <div>
          <h3 className="down-title">reaches {count(part.downstream.length, "column")} ▸</h3>
          <Reached columns={part.downstream} onPick={onPick} />
        </div>
      </div>
    </section>
  );
}

export function EdgeDetails({
  edge,
  places,
  onPlace,
}: {
  edge: GraphEdge;
  places: EdgePlace[] | null;
  onPlace(place: EdgePlace): void;
}) {
  const from = edge.source_column ? `${edge.source}.${edge.source_column}` : edge.source;
  const to = edge.target_column ? `${edge.target}.${edge.target_column}` : edge.target;
  return (
    <section aria-label="chosen edge">
      <h2 title={`${from} → ${to}`}>
        {shorten(from, 34)} → {shorten(to, 34)}
      </h2>
      <p>
        <span className="badge">{edge.role}</span> the source {ROLES[edge.role] ?? edge.role}
        {edge.approximate && <span className="badge doubt">≈ approximate</span>}
      </p>
      {places === null ? (
        <p className="quiet">looking for its places…</p>
      ) : (
        <ul className="places">
          {places.map((place) => (
            <li key={place.statement}>
              <button type="button" title={place.file} onClick={() => onPlace(place)}>
                {baseName(place.file)}:{place.line}
              </button>{" "}
              <span className="quiet">{place.statement_type.replaceAll("_", " ").toLowerCase()}</span>
              {place.source && <span className="chip up">source</span>}
              {place.target && <span className="chip down">target</span>}
            </li>
          ))}
          {places.length === 0 && <li className="quiet">between groups: open them to see the statements</li>}
        </ul>
      )}
    </section>
  );
}

export function Issues({ issues, onIssue }: { issues: Diagnostic[]; onIssue(issue: Diagnostic): void }) {
  if (issues.length === 0) return <p className="quiet">Nothing is in doubt. Click a column to follow it.</p>;
  return (
    <section aria-label="issues">
      <h2>{count(issues.length, "issue")}</h2>
      <ul className="issues">
        {issues.slice(0, MOST).map((issue, number) => (
          <li key={number} className={issue.severity}>
            <button type="button" onClick={() => onIssue(issue)} title={issue.file ?? ""}>
              <span className={`badge ${issue.severity === "error" ? "bad" : issue.severity === "warning" ? "doubt" : ""}`}>
                {issue.code}
              </span>{" "}
              {issue.file && (
                <span className="quiet">
                  {baseName(issue.file)}
                  {issue.line !== null && `:${issue.line}`}
                </span>
              )}
            </button>
            <p>{issue.message}</p>
            <p className="quiet">{issue.hint}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
