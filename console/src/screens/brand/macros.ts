type Macros = Readonly<Record<string, { example: string }>>

const fill = (template: string, macros: Macros, write: (text: string) => string) =>
  template.replace(/\{\{\s*([\w.]+)\s*\}\}/g, (whole, name: string) => {
    const macro = Object.hasOwn(macros, name) ? macros[name] : undefined
    return macro ? write(macro.example) : whole
  })

const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** A template with example values. */
export const exampleOf = (template: string, macros: Macros) => fill(template, macros, (text) => text)

export const htmlExampleOf = (template: string, macros: Macros) =>
  fill(template, macros, (text) => text.replace(/[&<>"]/g, (mark) => marks[mark] ?? mark))
