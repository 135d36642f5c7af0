// The OpenAPI description as an expandable list of requests and responses.
"use strict";

function element(tag, text = "", ...children) {
  const node = document.createElement(tag);
  node.textContent = text;
  node.append(...children);
  return node;
}

function operation(method, path, spec) {
  const verb = element("span", method.toUpperCase());
  verb.className = "method";
  const head = element("summary", "", verb, " ", element("code", path), ` ${spec.summary}`);
  return element("details", "", head, ...body(spec.requestBody), ...Object.entries(spec.responses).flatMap(response));
}

function body(spec) {
  const content = spec && spec.content["application/json"];
  if (!content) return [];
  return [element("h2", "Example body"), block(content.example), element("h2", "Schema of the body"), block(content.schema)];
}

function response([status, spec]) {
  const content = spec.content && spec.content["application/json"];
  const schema = content && content.schema && Object.keys(content.schema).length ? [block(content.schema)] : [];
  return [element("p", "", element("code", status), ` ${spec.description}`), ...(status === "200" ? schema : [])];
}

const block = (value) => element("pre", JSON.stringify(value, null, 2));

async function show() {
  const api = await (await fetch("openapi.json")).json();
  document.getElementById("about").textContent = api.info.description;
  const all = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => ({ tag: each.tags[0], node: operation(method, path, each) })));
  const tags = [...new Set(all.map((one) => one.tag))];
  const parts = tags.flatMap((tag) => [element("h2", tag), ...all.filter((one) => one.tag === tag).map((one) => one.node)]);
  document.getElementById("paths").replaceChildren(...parts);
}

show().catch((error) => { document.getElementById("about").textContent = error.message; });
