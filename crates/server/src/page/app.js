"use strict";

// Everything is put on the page as text, never as markup: the document is data.
const byId = (id) => document.getElementById(id);

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

byId("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  byId("message").textContent = "";
  try {
    const answer = await fetch("/openapi.json", {
      headers: { Authorization: "Bearer " + byId("token").value.trim() },
    });
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.detail + " " + body.next);
    show(body);
  } catch (error) {
    byId("message").textContent = error.message;
  }
});

byId("search").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/);
  for (const item of document.querySelectorAll("details")) {
    item.hidden = !words.every((word) => item.dataset.words.includes(word));
  }
});

function show(api) {
  byId("about").textContent = api.info.description;
  byId("login").hidden = true;
  byId("search").hidden = false;
  const groups = new Map();
  for (const [path, item] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const tag = (operation.tags || ["other"])[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(operationView(api, method, path, operation));
    }
  }
  const main = byId("operations");
  main.replaceChildren();
  // What serves the server itself comes after what serves its callers.
  const last = ["health", "page"];
  const ordered = [...groups].sort(([a], [b]) => last.indexOf(a) - last.indexOf(b));
  for (const [tag, views] of ordered) main.append(element("h2", tag), ...views);
}

function operationView(api, method, path, operation) {
  const view = element("details");
  view.dataset.words = [method, path, operation.summary, operation.tags].join(" ").toLowerCase();
  const head = element("summary");
  head.append(
    element("span", method.toUpperCase(), "method " + method),
    element("span", path, "path"),
    element("span", operation.summary || "", "what"),
  );
  const body = element("div", undefined, "body");
  if (operation.description) body.append(element("p", operation.description));
  const permission = operation["x-permission"];
  if (permission) body.append(element("p", "Needs the permission " + permission + "."));
  if (operation.parameters) body.append(element("h3", "Parameters"), parameters(operation.parameters));
  const request = operation.requestBody;
  if (request) body.append(element("h3", "Request"), content(api, request.content));
  body.append(element("h3", "Answers"));
  for (const [status, response] of Object.entries(operation.responses)) {
    body.append(element("p", status + ": " + response.description));
    if (response.content && status !== "default") body.append(content(api, response.content));
  }
  body.append(element("h3", "Try it"), element("pre", curl(api, method, path, operation)));
  view.append(head, body);
  return view;
}

function parameters(list) {
  const table = element("table");
  for (const parameter of list) {
    const row = element("tr");
    const name = element("td");
    name.append(element("code", parameter.name));
    row.append(name, element("td", parameter.in), element("td", parameter.description || ""));
    table.append(row);
  }
  return table;
}

function content(api, kinds) {
  const [kind, { schema }] = Object.entries(kinds)[0];
  return element("pre", kind + "\n" + JSON.stringify(example(api, schema, 0), null, 2));
}

// A value that has the form of the schema, with the docs of its fields as texts.
function example(api, schema, depth) {
  if (!schema || depth > 6) return "…";
  if (schema.$ref) return example(api, api.components.schemas[schema.$ref.split("/").pop()], depth + 1);
  if (schema.example !== undefined) return schema.example;
  if (schema.enum) return schema.enum.join(" | ");
  const choices = schema.oneOf || schema.anyOf;
  if (choices) {
    const given = choices.filter((choice) => choice.type !== "null");
    return example(api, given[0], depth + 1);
  }
  if (schema.allOf) {
    return Object.assign({}, ...schema.allOf.map((part) => example(api, part, depth + 1)));
  }
  const type = Array.isArray(schema.type) ? schema.type.find((type) => type !== "null") : schema.type;
  if (type === "array") return [example(api, schema.items, depth + 1)];
  if (schema.properties) {
    const made = {};
    for (const [name, field] of Object.entries(schema.properties)) made[name] = example(api, field, depth + 1);
    return made;
  }
  return schema.description || schema.format || type || "any value";
}

function curl(api, method, path, operation) {
  const parts = ["curl -X " + method.toUpperCase() + " '" + location.origin + path + "'"];
  if ((operation.security || []).length > 0) parts.push("-H \"Authorization: Bearer $STEPWELL_TOKEN\"");
  if (operation.requestBody) {
    const [kind, { schema }] = Object.entries(operation.requestBody.content)[0];
    parts.push("-H 'Content-Type: " + kind + "'");
    const body = kind === "application/json" ? JSON.stringify(example(api, schema, 0)) : null;
    parts.push(body ? "-d '" + body.replaceAll("'", "'\\''") + "'" : "--data-binary @workflow.yaml");
  }
  return parts.join(" \\\n  ");
}
