import { whitelabelProblems } from '../../../src/areas/brand/whitelabel/rules.ts'
import { type Json, present } from '../../../src/lib/json.ts'
import { placeOf } from '../../../src/lib/property-path.ts'
import { createRemoval } from '../../../src/lib/removal.ts'
import type { AttachedFile, Converted, KazooDocument } from '../../documents/document.ts'
import {
  attachmentsOf,
  fileAs,
  publicPart,
  rejectedOf,
  textIn,
  withRejected,
} from '../../documents/fields.ts'
import { exported, type LeavingDocument, type LeavingFile, type OwnRecord } from '../../leaving/document.ts'
import { finding, imported, leftOut, type Notes, notesOf } from '../findings.ts'
import { type HoldName, noteFilesOutside, type PeopleContext } from './context.ts'
import { isNameLost } from './shared-names.ts'

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

const withoutBad = (doc: Json, { needsHand }: Notes): Json => {
  const bad = Object.keys(whitelabelProblems(doc))
  const { rest, removed, remove } = createRemoval(doc)
  remove(bad.map(placeOf))
  for (const field of bad) needsHand('link_invalid', { field })
  return withRejected(rest, rejectedOf(removed))
}

/** How an account presents itself. A domain that an older account has is left to that. */
export const convertBrand = (document: KazooDocument, context: PeopleContext): Converted => {
  const notes = notesOf(document)
  const doc = withoutBad(publicPart(document.fields, ['id']), notes)
  const { domain: _, ...others } = doc
  const isLost = isNameLost(document, doc, context)
  if (isLost) notes.needsHand('domain_taken', { field: 'domain', old: textIn(doc, 'domain') ?? '' })
  const { files, unused } = filesOf(document)
  for (const field of unused) notes.leftOut('file_unused', { field })
  noteFilesOutside(document, notes)
  const { findings } = notes
  return imported(document, 'whitelabel', context.accountId, { doc: isLost ? others : doc, files, findings })
}

/** The document of a brand with its files, whose names say what they are. */
export const exportBrand = (record: OwnRecord, files: readonly LeavingFile[]): LeavingDocument[] => [
  exported('whitelabel', record, { id: 'whitelabel', files }),
]

/** Whether a document is an address that mail of the account comes from: there is no type to tell it by. */
export const isSenderAddress = ({ type, fields }: KazooDocument) =>
  !['user', 'account', 'device', 'whitelabel'].includes(type) &&
  textIn(fields, 'email') !== undefined &&
  (fields.verified !== undefined || fields.dkim_selector !== undefined)

/** An address that its owner has to confirm anew; its DKIM key is made anew, too. */
export const convertSender = (
  document: KazooDocument,
  { accountId }: PeopleContext,
  hold: HoldName,
): Converted => {
  const email = textIn(document.fields, 'email') ?? ''
  const told = { field: 'email', old: email }
  if (!hold('sender', email.toLowerCase())) return leftOut(document, 'sender_twice', told)
  return imported(document, 'whitelabel_email', accountId, {
    doc: { email, ...present({ dkim_selector: textIn(document.fields, 'dkim_selector') }) },
    findings: [finding(document, 'needs_hand', 'sender_unverified', told)],
  })
}

/** The document of an address that mail comes from; its owner has to confirm it there, too. */
export const exportSender = (record: OwnRecord): LeavingDocument[] => [
  exported('whitelabel_email', record, { more: { verified: false } }),
]
