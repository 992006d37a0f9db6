import { useEffect, useRef, useState } from "react";
import { Refusal } from "./source";

export interface Asked<T> {
  data: T | null;
  error: Refusal | null;
  loading: boolean;
}

/** An answer that is fetched when its key changes; the one before stays until the new one is there. */
export function useAsk<T>(key: string | null, fetch: () => Promise<T>): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({ data: null, error: null, loading: key !== null });
  const latest = useRef(fetch);
  latest.current = fetch;
  useEffect(() => {
    if (key === null) return;
    let current = true;
    setAsked((before) => ({ ...before, loading: true }));
    latest
      .current()
      .then((data) => {
        if (current) setAsked({ data, error: null, loading: false });
      })
      .catch((problem: unknown) => {
        const error = problem instanceof Refusal ? problem : new Refusal(String(problem), null, 0);
        if (current) setAsked((before) => ({ data: before.data, error, loading: false }));
      });
    return () => {
      current = false;
    };
  }, [key]);
  return asked;
}
