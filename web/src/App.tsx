import { useCallback, useEffect, useRef, useState } from "react";
import type { ImportedTable, ProjectSummary, Welcome } from "./answers";
import { type Page, useAddress } from "./address";
import { ImpactPage } from "./ImpactPage";
import { ColumnsPage } from "./ledger/ColumnsPage";
import { CostsPage } from "./ledger/CostsPage";
import { DeliveriesPage } from "./ledger/DeliveriesPage";
import { LineagePage } from "./lineage/LineagePage";
import { Problem } from "./Problem";
import { SchemaPage } from "./schema/SchemaPage";
import { Refusal, type Source } from "./source";
import { useTheme } from "./theme";

const PAGES: { page: Page; text: string; icon: string; live: boolean }[] = [
  { page: "lineage", text: "Lineage", icon: "M4 6h6v4H4zM14 4h6v4h-6zM14 14h6v4h-6zM10 8h4M10 8c3 0 2 8 4 8", live: false },
  { page: "schema", text: "Schema", icon: "M4 5h16v14H4zM4 10h16M10 10v9", live: false },
  { page: "impact", text: "Impact", icon: "M12 12m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0M12 3v4M12 17v4M3 12h4M17 12h4", live: true },
  { page: "deliveries", text: "Deliveries", icon: "M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8", live: true },
  { page: "columns", text: "Columns", icon: "M4 5h4v14H4zM10 5h4v14h-4zM16 5h4v8h-4z", live: true },
  { page: "costs", text: "Costs", icon: "M4 20h16M6 16v-5M11 16V6M16 16v-8", live: true },
];

// The name of what is typed where no files were given.
const SCRATCH = "query.sql";
const PAUSE = 60;

export function App({ source }: { source: Source }) {
  const [address, go] = useAddress();
  const [welcome, setWelcome] = useState<Welcome | null>(null);
  const [project, setProject] = useState<ProjectSummary | null>(null);
  const [error, setError] = useState<Refusal | null>(null);
  const [drafts, setDrafts] = useState<Record<string, string>>({});
  const [tables, setTables] = useState<ImportedTable[]>([]);
  const [dialect, setDialect] = useState("");
  const [theme, toggleTheme] = useTheme();
  const analysed = useRef("");
  const fail = useCallback((problem: unknown) => {
    setError(problem instanceof Refusal ? problem : new Refusal(String(problem), null, 0));
  }, []);

  useEffect(() => {
    source
      .welcome()
      .then(async (found) => {
        const first = await source.project("");
        setWelcome(found);
        setDialect(found.dialect);
        setProject(first);
        if (!found.has_sql && found.live) setDrafts({ [SCRATCH]: "" });
      })
      .catch(fail);
  }, [source, fail]);

  useEffect(() => {
    if (!welcome?.live || !dialect) return;
    const changed = JSON.stringify([drafts, tables, dialect]);
    const untouched = Object.keys(drafts).length === 0 && tables.length === 0 && dialect === welcome.dialect;
    if (changed === analysed.current || (untouched && analysed.current === "")) return;
    let current = true;
    const timer = setTimeout(() => {
      source
        .analyse(drafts, tables, dialect)
        .then((found) => {
          if (!current) return;
          analysed.current = changed;
          setProject(found);
          setError(null);
        })
        .catch((problem) => current && fail(problem));
    }, PAUSE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [source, welcome, drafts, tables, dialect, fail]);

  const draft = useCallback((file: string, text: string) => setDrafts((before) => ({ ...before, [file]: text })), []);
  const revert = useCallback((file: string) => {
    setDrafts(({ [file]: _, ...rest }) => rest);
  }, []);

  if (!welcome || !project) {
    return error ? <Problem error={error} /> : <div className="loading" role="status">Reading the project…</div>;
  }
  const pages = PAGES.filter((one) => welcome.live || !one.live);
  return (
    <div className="app">
      <nav className="rail" aria-label="pages">
        <span className="brand" title={`Lakebed ${welcome.version}`} aria-label="Lakebed">
          ◆
        </span>
        {pages.map(({ page, text, icon }) => (
          <button
            type="button"
            key={page}
            aria-current={address.page === page ? "page" : undefined}
            onClick={() => go({ page, tab: "", search: "" })}
          >
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d={icon} />
            </svg>
            {text}
          </button>
        ))}
        <span className="spring" />
        {welcome.live && (
          <select aria-label="SQL dialect" title="SQL dialect" value={dialect} onChange={(event) => setDialect(event.target.value)}>
            {welcome.dialects.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
        <button type="button" onClick={toggleTheme} title="light or dark" aria-label={theme === "dark" ? "use light colours" : "use dark colours"}>
          {theme === "dark" ? "☀" : "☾"}
        </button>
      </nav>
      <main>
        {error && <Problem error={error} />}
        {address.page === "lineage" && (
          <LineagePage source={source} project={project} live={welcome.live} address={address} go={go} drafts={drafts} onDraft={draft} onRevert={revert} />
        )}
        {address.page === "schema" && (
          <SchemaPage source={source} analysis={project.analysis} live={welcome.live} address={address} go={go} imported={tables} onImport={setTables} />
        )}
        {address.page === "impact" && <ImpactPage source={source} analysis={project.analysis} address={address} go={go} />}
        {address.page === "columns" && <ColumnsPage source={source} address={address} go={go} />}
        {address.page === "costs" && <CostsPage source={source} address={address} go={go} />}
        {address.page === "deliveries" && <DeliveriesPage source={source} />}
      </main>
    </div>
  );
}
