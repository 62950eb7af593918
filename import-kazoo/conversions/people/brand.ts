import { whitelabelProblems } from '../../../src/areas/whitelabel/rules.ts'
import type { Json } from '../../../src/lib/json.ts'
import { placeOf } from '../../../src/lib/property-path.ts'
import { createRemoval } from '../../../src/lib/removal.ts'
import { attachmentsOf, fileAs } from '../../documents/attachments.ts'
import type { AttachedFile, Converted, Finding, KazooDocument } from '../../documents/document.ts'
import { publicPart, textIn } from '../../documents/fields.ts'
import { rejectedOf, withRejected } from '../../documents/rejected.ts'
import { converted, finding } from '../findings.ts'
import { draftOf } from '../owners.ts'
import type { PeopleContext } from './context.ts'
import { filesOutside } from './files.ts'
import { keyOfLost, sharedNamesOf } from './shared-names.ts'

const kinds = ['logo', 'icon', 'welcome'] as const

/** Of several files of a kind the one that was put there last. Older brands have one file, under any name: the logo. */
const filesOf = (document: KazooDocument): { files: AttachedFile[]; unused: string[] } => {
  const all = attachmentsOf(document)
  const latest = kinds.flatMap((kind) => {
    const [file] = all.filter(({ name }) => name.startsWith(`${kind}-`)).sort((a, b) => b.since - a.since)
    return file ? [fileAs(kind, file)] : []
  })
  const [only] = all
  const files =
    latest.length === 0 && all.length === 1 && only && !only.name.startsWith('icon')
      ? [fileAs('logo', only)]
      : latest
  const used = new Set(files.map(({ name }) => name))
  return { files, unused: all.map(({ name }) => name).filter((name) => !used.has(name)) }
}

const withoutBad = (document: KazooDocument, doc: Json) => {
  const bad = Object.keys(whitelabelProblems(doc))
  const { rest, removed, remove } = createRemoval(doc)
  remove(bad.map(placeOf))
  return {
    doc: withRejected(rest, rejectedOf(removed)),
    findings: bad.map((field) => finding(document, 'needs_hand', 'link_invalid', { field })),
  }
}

/** How an account presents itself. A domain that an older account has is left to that. */
export const convertBrand = (document: KazooDocument, { accountId, lost }: PeopleContext): Converted => {
  const { doc, findings } = withoutBad(document, publicPart(document.fields, ['id']))
  const isLost = sharedNamesOf(document, doc, accountId).some((name) => lost.has(keyOfLost(name)))
  const told = { field: 'domain', old: textIn(doc, 'domain') ?? '' }
  const { domain: _, ...others } = doc
  const ofDomain: Finding[] = isLost ? [finding(document, 'needs_hand', 'domain_taken', told)] : []
  const { files, unused } = filesOf(document)
  const draft = draftOf(document, 'whitelabel', accountId, {
    doc: isLost ? others : doc,
    files,
  })
  return converted(document, 'imported', {
    drafts: [draft],
    findings: [
      ...findings,
      ...ofDomain,
      ...unused.map((field) => finding(document, 'left_out', 'file_unused', { field })),
      ...filesOutside(document),
    ],
  })
}

/** Whether a document is an address that mail of the account comes from: there is no type to tell it by. */
export const isSenderAddress = ({ type, fields }: KazooDocument) =>
  !['user', 'account', 'device', 'whitelabel'].includes(type) &&
  textIn(fields, 'email') !== undefined &&
  (fields.verified !== undefined || fields.dkim_selector !== undefined)

/** An address that its owner has to confirm anew; its DKIM key is made anew, too. */
export const convertSender = (
  document: KazooDocument,
  { accountId }: PeopleContext,
  hold: (kind: string, value: string) => boolean,
): Converted => {
  const email = textIn(document.fields, 'email') ?? ''
  const selector = textIn(document.fields, 'dkim_selector')
  if (!hold('sender', email.toLowerCase()))
    return converted(document, 'skipped', {
      findings: [finding(document, 'left_out', 'sender_twice', { field: 'email', old: email })],
    })
  const draft = draftOf(document, 'whitelabel_email', accountId, {
    doc: { email, ...(selector === undefined ? {} : { dkim_selector: selector }) },
  })
  return converted(document, 'imported', {
    drafts: [draft],
    findings: [finding(document, 'needs_hand', 'sender_unverified', { field: 'email', old: email })],
  })
}
