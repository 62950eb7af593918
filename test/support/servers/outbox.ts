import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The mails that a server without SMTP wrote, oldest first. */
export const mailsIn = async (dataDir: string): Promise<string[]> => {
  const folder = join(dataDir, 'outbox')
  const names = await readdir(folder).catch(() => [])
  const mails = names.filter((name) => name.endsWith('.eml')).sort()
  return Promise.all(mails.map((name) => readFile(join(folder, name), 'utf8')))
}

/** The mails to an address, oldest first. */
export const mailsTo = async (dataDir: string, address: string) =>
  (await mailsIn(dataDir)).filter((mail) => mail.includes(`To: ${address}\r\n`))

/** Decodes the escapes of quoted-printable text. */
const unescaped = (text: string) =>
  text.replace(/(?:=[0-9A-F]{2})+/g, (run) => Buffer.from(run.replaceAll('=', ''), 'hex').toString('utf8'))

/** The text of a mail, or of a part of it, with its soft line breaks and escapes undone. */
export const textOf = (mail: string) =>
  unescaped(mail.slice(mail.indexOf('\r\n\r\n') + 4).replace(/=\r\n/g, ''))

/** The subject of a mail, decoded. */
export const subjectOf = (mail: string) => {
  const [, folded = ''] = /^Subject: (.*(?:\r\n[ \t].*)*)\r$/m.exec(mail) ?? []
  return folded
    .replace(/\r\n(?=[ \t])/g, '')
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?UTF-8\?([QB])\?([^?]*)\?=/gi, (_all, encoding: string, text: string) =>
      encoding.toUpperCase() === 'B'
        ? Buffer.from(text, 'base64').toString('utf8')
        : unescaped(text.replaceAll('_', ' ')),
    )
}
