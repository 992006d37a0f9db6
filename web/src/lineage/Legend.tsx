import { dashes } from "./geometry";

const LINES: [string, boolean, string][] = [
  ["value", false, "value"],
  ["conditional", false, "condition"],
  ["window", false, "window"],
  ["filter", false, "filter"],
  ["join", false, "join"],
  ["value", true, "approximate"],
];

export function Legend({ predicates }: { predicates: boolean }) {
  return (
    <div className="legend" aria-label="line styles">
      {LINES.filter(([role]) => predicates || (role !== "filter" && role !== "join")).map(([role, approximate, text]) => (
        <span key={text}>
          <svg width="30" height="8" aria-hidden="true">
            <path d="M0,4 H30" className={`edge ${role} ${approximate ? "doubt" : ""}`} strokeDasharray={dashes({ role, approximate })} />
          </svg>
          {text}
        </span>
      ))}
    </div>
  );
}
