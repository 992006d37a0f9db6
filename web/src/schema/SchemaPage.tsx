import { useMemo, useRef, useState } from "react";
import type { ImportedTable, Prompt, SchemaColumn, SchemaTable } from "../answers";
import type { Address, Go } from "../address";
import { useAsk } from "../ask";
import { downloadText } from "../download";
import { baseName, count } from "../names";
import { Problem } from "../Problem";
import { Refusal, type Source } from "../source";
import { SchemaTables } from "./SchemaTables";

const TABS = ["hybrid", "imported", "implied"] as const;
type Tab = (typeof TABS)[number];

const EMPTY: Record<Tab, string> = {
  hybrid: "No table is known yet: import a schema, or analyse SQL that creates tables.",
  imported: "Nothing was imported. Start with --schema, or import a JSON file here.",
  implied: "The analysed SQL creates no table.",
};

export function SchemaPage({
  source,
  analysis,
  live,
  address,
  go,
  imported,
  onImport,
}: {
  source: Source;
  analysis: string;
  live: boolean;
  address: Address;
  go: Go;
  imported: ImportedTable[];
  onImport(tables: ImportedTable[]): void;
}) {
  const schema = useAsk(`schema ${analysis}`, () => source.schema(analysis));
  const tab: Tab = TABS.find((one) => one === address.tab) ?? "hybrid";
  const [problem, setProblem] = useState<Refusal | null>(null);
  const tables = schema.data?.[tab] ?? [];
  const shown = useMemo(() => {
    const wanted = address.search.trim().toLowerCase();
    if (!wanted) return tables;
    return tables.filter(
      (table) => table.name.toLowerCase().includes(wanted) || table.columns.some((column) => column.name.toLowerCase().includes(wanted)),
    );
  }, [tables, address.search]);
  const jump = (table: { file: string | null; name?: string }) => {
    if (table.file) go({ page: "lineage", file: table.file, table: table.name ? [table.name] : [], column: "", column_table: "", mode: "graph" });
  };
  const save = async () => {
    const found = await source.schemaExport(analysis, tab);
    downloadText(`schema-${tab}.json`, "application/json", JSON.stringify(found, null, 2));
  };
  if (schema.error && !schema.data) return <Problem error={schema.error} />;
  return (
    <div className="schema-page">
      <header className="page-head">
        <h1>Schema</h1>
        <div className="tabs" role="tablist" aria-label="origin">
          {TABS.map((one) => (
            <button type="button" key={one} role="tab" aria-selected={tab === one} onClick={() => go({ tab: one })}>
              {one} <span className="number">{schema.data?.[one].length ?? ""}</span>
            </button>
          ))}
        </div>
        <input
          type="search"
          placeholder="Find a table or column"
          aria-label="find in the schema"
          value={address.search}
          onChange={(event) => go({ search: event.target.value }, true)}
        />
        <span className="actions">
          <button type="button" onClick={() => void save()}>
            Export JSON
          </button>
          {live && <Import source={source} imported={imported} onImport={onImport} onProblem={setProblem} />}
        </span>
      </header>
      {problem && <Problem error={problem} />}
      <div className="schema-columns">
        <SchemaTables tables={shown} empty={EMPTY[tab]} onJump={jump} />
        <aside className="prompts" tabIndex={0} aria-label="doubts">
          {schema.data?.prompts.map((prompt) => (
            <Missing
              key={prompt.table}
              prompt={prompt}
              live={live}
              onAdd={(columns) => onImport([...imported, importedTable(prompt, columns)])}
              onJump={() => jump({ file: prompt.file })}
            />
          ))}
          {schema.data?.conflicts.map((conflict) => (
            <section key={conflict.table} className="conflict">
              <h2>{conflict.table}: imported and declared differ</h2>
              <p>{conflict.message}</p>
              <p className="quiet">{conflict.hint}</p>
              <Compared imported={conflict.imported} implied={conflict.implied} />
            </section>
          ))}
          {schema.data && schema.data.prompts.length + schema.data.conflicts.length === 0 && (
            <p className="quiet">Every table that the SQL reads is known, and nothing contradicts.</p>
          )}
        </aside>
      </div>
    </div>
  );
}

function importedTable(prompt: Prompt, columns: string[]): ImportedTable {
  return {
    ...(prompt.catalog ? { catalog: prompt.catalog } : {}),
    ...(prompt.schema ? { schema: prompt.schema } : {}),
    name: prompt.name,
    columns: columns.map((name) => ({ name })),
  };
}

function Missing({
  prompt,
  live,
  onAdd,
  onJump,
}: {
  prompt: Prompt;
  live: boolean;
  onAdd(columns: string[]): void;
  onJump(): void;
}) {
  const [text, setText] = useState(prompt.columns.join(", "));
  const columns = [...new Set(text.split(/[,\n]/).map((one) => one.trim()).filter(Boolean))];
  return (
    <section className="prompt" data-prompt={prompt.table}>
      <h2>
        <span className="badge doubt">≈</span> {prompt.table}
      </h2>
      <p>{prompt.message}</p>
      <p className="quiet">{prompt.hint}</p>
      {prompt.file && (
        <p>
          <button type="button" className="link" title={prompt.file} onClick={onJump}>
            read in {baseName(prompt.file)}:{prompt.line}
          </button>
        </p>
      )}
      {live && (
        <>
          <label className="quiet" htmlFor={`columns-${prompt.table}`}>
            {prompt.columns.length ? "columns that the SQL names, and any that you add" : "its columns, with commas between them"}
          </label>
          <textarea id={`columns-${prompt.table}`} rows={2} value={text} onChange={(event) => setText(event.target.value)} />
          <button type="button" className="primary" disabled={columns.length === 0} onClick={() => onAdd(columns)}>
            Add {columns.length ? count(columns.length, "column") : "columns"} to the imported schema
          </button>
        </>
      )}
    </section>
  );
}

function Compared({ imported, implied }: { imported: SchemaColumn[]; implied: SchemaColumn[] }) {
  const names = [...new Set([...imported, ...implied].map((column) => column.name.toLowerCase()))];
  const of = (columns: SchemaColumn[], name: string) => columns.find((column) => column.name.toLowerCase() === name);
  const cell = (column: SchemaColumn | undefined) => (column ? `${column.name} ${column.type?.toLowerCase() ?? ""}` : "—");
  return (
    <table className="compared">
      <thead>
        <tr>
          <th>imported</th>
          <th>declared in the SQL</th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => {
          const [left, right] = [of(imported, name), of(implied, name)];
          const differs = !left || !right || (left.type && right.type && left.type.toLowerCase() !== right.type.toLowerCase());
          return (
            <tr key={name} className={differs ? "differs" : ""}>
              <td>{cell(left)}</td>
              <td>
                {cell(right)}
                {differs && <span className="badge bad">≠</span>}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Import({
  source,
  imported,
  onImport,
  onProblem,
}: {
  source: Source;
  imported: ImportedTable[];
  onImport(tables: ImportedTable[]): void;
  onProblem(problem: Refusal | null): void;
}) {
  const file = useRef<HTMLInputElement>(null);
  const [address, setAddress] = useState("");
  const take = async (read: () => Promise<ImportedTable[]>) => {
    try {
      onImport([...imported, ...(await read())]);
      onProblem(null);
    } catch (error) {
      onProblem(error instanceof Refusal ? error : new Refusal(String(error), null, 0));
    }
  };
  return (
    <>
      <button type="button" onClick={() => file.current?.click()}>
        Import JSON
      </button>
      <input
        ref={file}
        type="file"
        accept=".json,application/json"
        hidden
        onChange={(event) => {
          const chosen = event.target.files?.[0];
          event.target.value = "";
          if (chosen) void take(async () => tablesOf(await chosen.text(), chosen.name));
        }}
      />
      <form
        className="address"
        onSubmit={(event) => {
          event.preventDefault();
          if (address.trim()) void take(() => source.schemaImport(address.trim()));
        }}
      >
        <input
          placeholder="duckdb:FILE, iceberg:NS, dbt:DIR"
          aria-label="import from an address"
          value={address}
          onChange={(event) => setAddress(event.target.value)}
        />
        <button type="submit">Import</button>
      </form>
      {imported.length > 0 && (
        <button type="button" onClick={() => onImport([])}>
          Forget {count(imported.length, "imported table")}
        </button>
      )}
    </>
  );
}

/** The tables of a schema as this page or `lakebed lineage --json` exports it. */
export function tablesOf(text: string, name: string): ImportedTable[] {
  const remedy = 'A schema is {"tables": [{"name": ..., "columns": [{"name": ...}]}]}.';
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw new Refusal(`${name} is not JSON`, remedy, 0);
  }
  const whole = read as { tables?: unknown; resolvedSchema?: { tables?: unknown } };
  const tables = whole.resolvedSchema?.tables ?? whole.tables;
  if (!Array.isArray(tables)) throw new Refusal(`${name} has no list of tables`, remedy, 0);
  return (tables as SchemaTable[]).map((table, number) => {
    const columns = (table.columns ?? []) as unknown as (string | ImportedTable["columns"][number])[];
    if (typeof table.name !== "string" || !Array.isArray(columns)) throw new Refusal(`${name}: table ${number + 1} has no name or no columns`, remedy, 0);
    return { ...table, columns: columns.map((column) => (typeof column === "string" ? { name: column } : column)) } as unknown as ImportedTable;
  });
}
