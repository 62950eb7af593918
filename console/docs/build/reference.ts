import { escapeHtml } from './html.ts'
import type { Page } from './layout.ts'
import { renderLine, renderText } from './markdown.ts'
import type { Operation, OperationGroup, Operations } from './operations.ts'
import { relativeUrl } from './sources.ts'

const lineOf = ({ method, path }: Operation) =>
  `<span class="method ${method.toLowerCase()}">${method}</span> <code>${escapeHtml(path)}</code>`

const overviewPath = 'api/index.html'

const groupInOverview = ({ name, description, page, operations }: OperationGroup) => {
  const url = relativeUrl(overviewPath, page)
  const items = operations.map(
    (operation) =>
      `<li><a href="${url}#${operation.id}">${renderLine(operation.summary)}</a><br>${lineOf(operation)}</li>`,
  )
  return `<h2 id="${name}"><a href="${url}">${name}</a></h2>
<p>${renderLine(description)}</p>
<ul class="operations">
${items.join('\n')}
</ul>`
}

const overview = ({ version, description, groups }: Operations, openApiPath: string): Page => {
  const total = groups.reduce((sum, { operations }) => sum + operations.length, 0)
  const link = (page: string, text: string) => `<a href="${relativeUrl(overviewPath, page)}">${text}</a>`
  return {
    path: overviewPath,
    title: 'API',
    headings: groups.map(({ name }) => ({ level: 2, id: name, text: name })),
    html: `<h1>API</h1>
<p>${total} operations in ${groups.length} groups, version ${escapeHtml(version)}. You can try each operation on its page.
See also the ${link('start/first-steps.html', 'first steps')} in a shell, ${link('guides/sign-in.html', 'sign-in security')}, and
${link(openApiPath, 'openapi.json')} for generators.</p>
${renderText(description)}
${groups.map(groupInOverview).join('\n')}`,
  }
}

export const documentPath = ({ name }: OperationGroup) => `api/${name}.json`

const operationInGroup = (operation: Operation) => {
  const { id, summary, description } = operation
  return `<details class="operation" id="${id}">
<summary><h3>${renderLine(summary)}</h3>${lineOf(operation)}</summary>
<div class="detail">${renderText(description)}</div>
</details>`
}

const groupPage = (group: OperationGroup, consolePath: string | undefined): Page => {
  const { name, description, page, operations } = group
  const toConsole = consolePath === undefined ? '' : ` data-console="${relativeUrl(page, consolePath)}"`
  return {
    path: page,
    title: `${name}: API`,
    headings: [
      { level: 1, id: '', text: name },
      ...operations.map(({ id, summary }) => ({ level: 2, id, text: summary.replaceAll('`', '') })),
    ],
    entry: 'reference',
    html: `<h1>${name}</h1>
<p>${renderLine(description)}</p>
<div class="access" id="access"></div>
<h2>Operations</h2>
<div id="reference" data-document="${relativeUrl(page, documentPath(group))}"${toConsole}>
${operations.map(operationInGroup).join('\n')}
</div>`,
  }
}

export const referencePages = (
  operations: Operations,
  openApiPath: string,
  consolePath: string | undefined,
): Page[] => [
  overview(operations, openApiPath),
  ...operations.groups.map((group) => groupPage(group, consolePath)),
]
