// The same statements with FlowScope's npm package and the full schema.
// node flowscope_lineage.mjs WORKLOAD.json   prints the milliseconds per statement as the last line
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";

const home = dirname(dirname(createRequire(import.meta.url).resolve("@pondpilot/flowscope-core/wasm/package.json")));
const wasm = await import(join(home, "wasm", "flowscope_wasm.js"));
wasm.initSync({ module: readFileSync(join(home, "wasm", "flowscope_wasm_bg.wasm")) });

const work = JSON.parse(readFileSync(process.argv[2], "utf8"));
const schema = { tables: work.schema.tables, allowImplied: true };
const times = work.queries.map(sql => {
  let fastest = Infinity;
  for (let i = 0; i < work.repeat; i++) {
    const started = performance.now();
    JSON.parse(wasm.analyze_sql_json(JSON.stringify({ sql, dialect: "duckdb", schema })));
    fastest = Math.min(fastest, performance.now() - started);
  }
  return fastest;
});
console.log(JSON.stringify(times));
