import { useCallback, useEffect, useMemo, useState } from "react";
import type { Diagnostic, EdgePlace, Found, GraphEdge, ProjectSummary } from "../answers";
import { type Address, type Go, START } from "../address";
import { useAsk } from "../ask";
import { downloadText } from "../download";
import { count } from "../names";
import { Problem } from "../Problem";
import type { Source, View } from "../source";
import { ColumnDetails, EdgeDetails, Issues } from "./Details";
import { EdgeList } from "./EdgeList";
import { Files } from "./Files";
import { Graph } from "./Graph";
import { Legend } from "./Legend";
import { MatrixPane } from "./MatrixPane";
import { OverviewCanvas } from "./OverviewCanvas";
import { Search } from "./Search";
import { type Highlight, SqlEditor } from "./SqlEditor";
import type { BoxActions } from "./TableBox";
import { Toolbar } from "./Toolbar";
import { downloadPng, downloadSvg, toMermaid } from "./pictures";

const NOTHING: Highlight[] = [];
// Tables that are shown without a focus: the limit of lakebed.ui.neighbourhood.
const MOST_WHOLE = 60;

function viewOf(address: Address): View {
  const { table, column_table, column, up, down, only, predicates, expanded, whole } = address;
  const { grown_up, grown_down, hidden, group, opened, detail } = address;
  return { table, column_table, column, up, down, only, predicates, expanded, whole, grown_up, grown_down, hidden, group, opened, detail };
}

function added(list: string[], one: string): string[] {
  return list.includes(one) ? list : [...list, one];
}

export interface LineageProps {
  source: Source;
  project: ProjectSummary;
  live: boolean;
  address: Address;
  go: Go;
  drafts: Record<string, string>;
  onDraft(file: string, text: string): void;
  onRevert(file: string): void;
}

export function LineagePage({ source, project, live, address, go, drafts, onDraft, onRevert }: LineageProps) {
  const { analysis } = project;
  const [edge, setEdge] = useState<GraphEdge | null>(null);
  const [marks, setMarks] = useState<Highlight[]>(NOTHING);
  const [searched, setSearched] = useState("");
  const [ring, setRing] = useState("");
  const whole = project.tables <= MOST_WHOLE && address.table.length === 0;
  const view = viewOf(address);
  const key = `${analysis} ${JSON.stringify(view)}`;
  const inGraph = address.mode === "graph";
  const part = useAsk(inGraph ? key : null, () => source.neighbourhood(analysis, view));
  const overview = useAsk(address.mode === "overview" ? analysis : null, () => source.overview(analysis));
  const matrix = useAsk(address.mode === "matrix" ? analysis : null, () => source.matrix(analysis));
  const places = useAsk(edge ? `${analysis} ${edge.id}` : null, () => {
    if (!edge) throw new Error("there is no edge");
    return source.places(analysis, edge);
  });
  const file = project.files.some((one) => one.name === address.file) ? address.file : (project.files[0]?.name ?? "");
  const text = useAsk(file ? `${analysis} ${file}` : null, () => source.file(analysis, file));
  const shown = text.data?.name === file ? text.data : null;

  const pick = useCallback(
    (table: string, column: string) => {
      setEdge(null);
      go({ column_table: table, column, mode: "graph" });
    },
    [go],
  );
  const actions = useMemo<BoxActions>(
    () => ({
      pick,
      focus: (table, made) =>
        go({ table: [table], column: "", column_table: "", only: false, grown_up: [], grown_down: [], file: made ?? address.file }),
      hide: (table) => go({ hidden: added(address.hidden, table) }),
      expand: (table) => go({ expanded: added(address.expanded, table) }),
      whole: (table) => go({ whole: added(address.whole, table) }),
      collapse: (table) =>
        go({ expanded: address.expanded.filter((one) => one !== table), whole: address.whole.filter((one) => one !== table) }),
      growUp: (table) => go(address.table.length ? { grown_up: added(address.grown_up, table) } : { table: [table], grown_up: [table] }),
      growDown: (table) =>
        go(address.table.length ? { grown_down: added(address.grown_down, table) } : { table: [table], grown_down: [table] }),
      open: (group) => go({ opened: added(address.opened, group) }),
    }),
    [go, pick, address],
  );
  const chooseEdge = useCallback((one: GraphEdge) => setEdge(one), []);
  const leave = useCallback(() => {
    setEdge(null);
    setMarks(NOTHING);
    setRing("");
    if (address.column) go({ column: "", column_table: "", only: false });
  }, [go, address.column]);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !(event.target as HTMLElement).closest("input:not([type='checkbox']), textarea, .editor")) leave();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [leave]);

  const showPlace = useCallback(
    (place: EdgePlace) => {
      go({ file: place.file }, true);
      const found: Highlight[] = [{ start: place.start, end: place.end, kind: "statement" }];
      if (place.target) found.push({ start: place.target[0], end: place.target[1], kind: "target" });
      if (place.source) found.push({ start: place.source[0], end: place.source[1], kind: "source" });
      setMarks(found);
    },
    [go],
  );
  // an edge shows its first place at once
  useEffect(() => {
    const first = edge && !places.loading ? places.data?.[0] : undefined;
    if (first) showPlace(first);
  }, [edge, places.data, places.loading, showPlace]);

  // a table that is looked at alone shows the statement that makes it
  const only = address.table.length === 1 ? address.table[0] : undefined;
  useEffect(() => {
    const made = only !== undefined && !edge ? shown?.statements.find((one) => one.table === only) : undefined;
    if (made) setMarks([{ start: made.start, end: made.end, kind: "statement" }]);
  }, [only, shown, edge]);

  const showIssue = (issue: Diagnostic) => {
    if (issue.file === null) return;
    go({ file: issue.file }, true);
    if (issue.start !== null && issue.end !== null) setMarks([{ start: issue.start, end: issue.end, kind: "source" }]);
  };
  const clickText = (offset: number) => {
    // positions are those of the text that was analysed
    if (!shown || shown.sql !== (drafts[file] ?? shown.sql)) return;
    const name = shown.names
      .filter((one) => offset >= one.start && offset <= one.end)
      .sort((a, b) => Number(b.column !== null) - Number(a.column !== null))[0];
    if (name?.column) {
      setEdge(null);
      go({ column_table: name.table, column: name.column, mode: "graph" });
      return;
    }
    const table = name?.table ?? shown.statements.find((one) => offset >= one.start && offset <= one.end)?.table;
    if (!table) return;
    // what is shown whole stays as it is while somebody writes
    if (whole) setRing(table);
    else go({ table: [table], column: "", column_table: "", mode: "graph" });
  };
  const onFound = (found: Found) => {
    setEdge(null);
    if (found.column === null) go({ table: [found.table], column: "", column_table: "", mode: "graph" });
    else go({ table: whole ? [] : [found.table], column_table: found.table, column: found.column, mode: "graph" });
  };

  const data = part.data;
  const picked = address.column !== "" && !data?.unknown.includes(`${address.column_table}.${address.column}`);
  const exports = data
    ? {
        png: () => void downloadPng(data),
        svg: () => downloadSvg(data),
        mermaid: () => downloadText("lineage.mmd", "text/plain", toMermaid(data)),
        link: () => void navigator.clipboard?.writeText(location.href),
      }
    : null;
  const focused = useMemo(() => [...address.table, ring], [address.table, ring]);
  const open = useMemo(() => [...address.expanded, ...address.whole], [address.expanded, address.whole]);
  const found = useMemo(() => {
    const wanted = searched.trim().toLowerCase();
    return new Set(wanted ? overview.data?.names.filter((name) => name.toLowerCase().includes(wanted)) : []);
  }, [searched, overview.data]);

  return (
    <div className={address.wide ? "lineage wide" : "lineage"}>
      <div className="sql-pane">
        <Files files={project.files} chosen={file} edited={drafts} onChoose={(name) => { setMarks(NOTHING); go({ file: name }, true); }} />
        {shown ? (
          <>
            <div className="file-bar">
              <span title={shown.name}>{count(shown.statements.length, "statement")}</span>
              {shown.rendered && <span className="badge" title="its SQL was rendered from a template">rendered</span>}
              {live && drafts[file] === undefined && <span className="quiet">edits stay in the browser</span>}
              {drafts[file] !== undefined && project.has_sql && (
                <button type="button" onClick={() => onRevert(file)}>
                  Undo edits
                </button>
              )}
            </div>
            <SqlEditor
              key={file}
              file={shown}
              text={drafts[file] ?? shown.sql}
              readOnly={!live}
              highlights={marks}
              onChange={(changed) => { if (changed !== (drafts[file] ?? shown.sql)) onDraft(file, changed); }}
              onClick={clickText}
            />
          </>
        ) : text.error ? (
          <Problem error={text.error} />
        ) : (
          <div className="editor" />
        )}
      </div>
      <div className="graph-pane">
        <div className="bar">
          <Search source={source} analysis={analysis} onFound={onFound} onText={setSearched} />
          <Toolbar address={address} go={go} exports={exports} />
        </div>
        <div className="canvas" data-mode={address.mode}>
          {inGraph && part.error && <Problem error={part.error} />}
          {inGraph && data && !part.error && data.nodes.length > 0 && (
            <>
              <Graph
                part={data}
                focused={focused}
                open={open}
                picked={picked}
                edge={edge}
                actions={actions}
                onEdge={chooseEdge}
                onBackground={leave}
                fit={`${data.nodes.length} ${address.table.join()} ${address.only} ${address.group} ${address.up} ${address.down} ${address.wide}`}
              />
              <Legend predicates={address.predicates} />
              {data.left_out > 0 && (
                <div className="note" role="status">
                  {count(data.nodes.length, "table")} of {data.tables.toLocaleString("en")}.{" "}
                  <button type="button" onClick={() => go({ mode: "overview" })}>
                    See all
                  </button>
                </div>
              )}
              {data.unknown.length > 0 && (
                <div className="note" role="status">
                  {data.unknown[0]} is not in this lineage.{" "}
                  <button type="button" onClick={() => go({ ...START, file })}>
                    Show all
                  </button>
                </div>
              )}
            </>
          )}
          {inGraph && data && data.nodes.length === 0 && (
            <div className="empty">
              <h2>No tables yet</h2>
              <p>
                {live
                  ? "Type SQL on the left: its tables and columns appear here as you write."
                  : "The analysed SQL names no table."}
              </p>
              {live && !project.has_sql && (
                <p>
                  Or start the explorer with your files: <code>lakebed ui models/</code>, <code>lakebed ui --dbt shop</code>
                </p>
              )}
            </div>
          )}
          {address.mode === "overview" &&
            (overview.data ? (
              <OverviewCanvas overview={overview.data} found={found} onTable={(table) => go({ ...START, file, wide: address.wide, table: [table] })} />
            ) : (
              overview.error && <Problem error={overview.error} />
            ))}
          {address.mode === "list" && (
            <EdgeList
              source={source}
              analysis={analysis}
              search={searched}
              onRow={(row) => {
                setEdge({ ...row, id: JSON.stringify([row.source, row.source_column, row.target, row.target_column, row.role]), mark: null, statements: [row.statement] });
              }}
            />
          )}
          {address.mode === "matrix" &&
            (matrix.data ? (
              <MatrixPane matrix={matrix.data} onCell={(from, to) => go({ ...START, file, wide: address.wide, table: [from, to], up: 0, down: 0 })} />
            ) : (
              matrix.error && <Problem error={matrix.error} />
            ))}
        </div>
        <aside className="details" tabIndex={0} aria-label="details">
          {edge ? (
            <EdgeDetails edge={edge} places={places.loading ? null : places.data} onPlace={showPlace} />
          ) : picked && data ? (
            <ColumnDetails
              table={address.column_table}
              column={address.column}
              part={data}
              only={address.only}
              onPick={pick}
              onOnly={(only) => go({ only })}
              onImpact={live ? () => go({ page: "impact", tab: `${address.column_table}.${address.column}` }) : null}
            />
          ) : (
            <Issues issues={project.diagnostics} onIssue={showIssue} />
          )}
        </aside>
      </div>
    </div>
  );
}
