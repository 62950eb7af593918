import { isUtf8 } from 'node:buffer'
import type { Mail } from '../../../mail/mail.ts'
import type { TemplateBodies, TemplateDoc } from '../../../mail/templates.ts'
import { type ImportedFile, type ImportedRecord, importingInto } from '../../adoption.ts'
import { bodyProblems, maxTemplateBytes } from './rules.ts'
import { Notification } from './schema.ts'

const roles = ['text', 'html'] as const

/** Other systems' templates know conditions and filters: of those only names in double braces mean the same here. */
const unusable = (template: string) => template.includes('{%') || template.includes('|')

/** How notices of another system are taken in: with the bodies that say here what they said there. */
export const createNoticeImporter = ({ notices, templates }: Mail): ImportedRecord => {
  const problemOf = (id: string, { bytes }: ImportedFile): string | undefined => {
    if (bytes.length > maxTemplateBytes) return `it is larger than ${maxTemplateBytes} bytes`
    if (!isUtf8(bytes)) return 'it is not UTF-8'
    const template = bytes.toString('utf8')
    if (unusable(template)) return 'it has conditions or filters'
    if (!notices.isId(id)) return 'there is no such notice'
    const problems = bodyProblems('body', template, notices.of(id).macros)
    return Object.keys(problems).length > 0 ? 'it uses names that the notice does not know' : undefined
  }

  const bodiesIn = (id: string, files: readonly ImportedFile[]): TemplateBodies =>
    Object.fromEntries(
      roles.flatMap((role) => {
        const file = files.find((one) => one.role === role)
        return file && problemOf(id, file) === undefined ? [[role, file.bytes.toString('utf8')]] : []
      }),
    )

  return {
    schema: Notification,
    fileProblem: (file, { id }) => problemOf(id, file),
    async files({ accountId, id }) {
      const bodies = (await templates.arrivals.find(accountId, id))?.hidden ?? {}
      return new Map(
        roles.flatMap((role) => {
          const body = bodies[role]
          return body === undefined ? [] : [[role, Buffer.from(body)]]
        }),
      )
    },
    ...importingInto<TemplateDoc, TemplateBodies>(templates.arrivals, ({ id, doc, files }) => ({
      doc: doc as TemplateDoc,
      hidden: bodiesIn(id, files),
    })),
  }
}
