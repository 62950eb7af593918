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

/** The text of a mail with its soft line breaks and escapes undone. */
export const textOf = (mail: string) =>
  mail
    .slice(mail.indexOf('\r\n\r\n') + 4)
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
