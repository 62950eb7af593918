// Templates only replace names in double braces.

const macro = /\{\{\s*([A-Za-z0-9_.]{1,100})\s*\}\}/g

export type Values = Readonly<Record<string, string>>

/** With repetitions. */
export const usesIn = (template: string) => [...template.matchAll(macro)].map(([, name = '']) => name)

/** Without repetitions. */
export const namesIn = (template: string) => [...new Set(usesIn(template))]

const fill = (template: string, values: Values, put: (value: string) => string) =>
  template.replace(macro, (_all, name: string) => put((Object.hasOwn(values, name) && values[name]) || ''))

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A value cannot open a tag or end an attribute. */
const escaped = (value: string) => value.replace(/[&<>"']/g, (character) => entities[character] ?? character)

export const renderText = (template: string, values: Values) => fill(template, values, (value) => value)

export const renderHtml = (template: string, values: Values) => fill(template, values, escaped)

// Far more than RFC 5322 recommends for a line.
const longestSubject = 500

/** One line, so that values cannot add headers. */
export const renderSubject = (template: string, values: Values) =>
  [
    ...renderText(template, values)
      .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
      .trim(),
  ]
    .slice(0, longestSubject)
    .join('')
