import "@xyflow/react/dist/base.css";
import "./style.css";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { apiSource } from "./api";
import { embeddedSource } from "./embedded";

// A page that stands alone carries its data; any other asks the server that it came from.
const data = document.getElementById("lakebed-data")?.textContent;
const root = document.getElementById("root");
if (root) createRoot(root).render(<App source={data ? embeddedSource(JSON.parse(data)) : apiSource} />);
