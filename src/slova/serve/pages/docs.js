// The OpenAPI description as a list to unfold: what is sent, what comes back.
"use strict";

function made(tag, text = "", ...inside) {
  const element = document.createElement(tag);
  element.textContent = text;
  element.append(...inside);
  return element;
}

function operation(method, path, said) {
  const verb = made("span", method.toUpperCase());
  verb.className = "method";
  const head = made("summary", "", verb, " ", made("code", path), ` ${said.summary}`);
  return made("details", "", head, ...body(said.requestBody), ...Object.entries(said.responses).flatMap(answer));
}

function body(said) {
  const content = said && said.content["application/json"];
  if (!content) return [];
  return [made("h2", "Body, for example"), block(content.example), made("h2", "Body, as a schema"), block(content.schema)];
}

function answer([status, said]) {
  const content = said.content && said.content["application/json"];
  const schema = content && content.schema && Object.keys(content.schema).length ? [block(content.schema)] : [];
  return [made("p", "", made("code", status), ` ${said.description}`), ...(status === "200" ? schema : [])];
}

const block = (value) => made("pre", JSON.stringify(value, null, 2));

async function show() {
  const said = await (await fetch("/openapi.json")).json();
  document.getElementById("about").textContent = said.info.description;
  const all = Object.entries(said.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => ({ tag: each.tags[0], element: operation(method, path, each) })));
  const tags = [...new Set(all.map((one) => one.tag))];
  const parts = tags.flatMap((tag) => [made("h2", tag), ...all.filter((one) => one.tag === tag).map((one) => one.element)]);
  document.getElementById("paths").replaceChildren(...parts);
}

show().catch((error) => { document.getElementById("about").textContent = error.message; });
