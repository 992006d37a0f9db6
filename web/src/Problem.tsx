import type { Refusal } from "./source";

/** What went wrong, and what to do about it, as the command line says it. */
export function Problem({ error }: { error: Refusal }) {
  return (
    <div className="problem" role="alert">
      <h2>{error.message}</h2>
      {error.remedy && <p>{error.remedy}</p>}
    </div>
  );
}
