import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, vi } from 'vitest'

/** The mails that a server without SMTP wrote, oldest first. */
export const mailsIn = async (dataDir: string): Promise<string[]> => {
  const folder = join(dataDir, 'outbox')
  const names = await readdir(folder).catch(() => [])
  const mails = names.filter((name) => name.endsWith('.eml')).sort()
  return Promise.all(mails.map((name) => readFile(join(folder, name), 'utf8')))
}

/** The mails to somebody, once there are as many as expected. */
export const mailsTo = (dataDir: string, address: string, count = 1) =>
  vi.waitFor(
    async () => {
      const found = (await mailsIn(dataDir)).filter((mail) => mail.includes(`To: ${address}\r\n`))
      expect(found.length).toBe(count)
      return found
    },
    { timeout: 5000, interval: 20 },
  )

/** The text of a mail with its soft line breaks and escapes undone. */
export const textOf = (mail: string) =>
  mail
    .slice(mail.indexOf('\r\n\r\n') + 4)
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
