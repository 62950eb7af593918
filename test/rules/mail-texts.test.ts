// The built-in emails: each language has each text, and each text uses declared macros only.
import { describe, expect, it } from 'vitest'
import { declarationsOf } from '../../src/areas/assemble.ts'
import { areas } from '../../src/areas/index.ts'
import { namesIn, renderHtml, renderSubject, renderText } from '../../src/lib/template.ts'
import { languageOf, languages, localized, valuesIn } from '../../src/mail/languages.ts'
import { createNotices } from '../../src/mail/notices.ts'

const notices = createNotices(declarationsOf(areas).notices)
const parts = ['subject', 'text', 'html'] as const
const renderers = { subject: renderSubject, text: renderText, html: renderHtml }

describe('the built-in emails', () => {
  it('have a subject, a text and an HTML body in each language, with no macro left unresolved', () => {
    for (const notice of notices.ids.map(notices.of))
      for (const language of languages) {
        const examples = Object.entries(notice.macros).map(([name, { example }]) => [name, example])
        const values = valuesIn(Object.fromEntries(examples), language)
        for (const part of parts) {
          const template = notice.wordings[language][part]
          const at = `${notice.id} ${language} ${part}`
          expect(
            namesIn(template).filter((name) => !Object.hasOwn(values, name)),
            at,
          ).toEqual([])
          const rendered = renderers[part](template, values)
          expect(rendered, at).not.toMatch(/\{\{|\}\}|undefined|\[object/)
          expect(rendered.trim(), at).not.toBe('')
        }
        expect(notice.wordings[language].html, notice.id).toContain(`<html lang="${language}">`)
      }
  })

  it('use the same macros in all languages and in both bodies', () => {
    for (const { id, wordings } of notices.ids.map(notices.of)) {
      const usedIn = (part: (typeof parts)[number]) =>
        languages.map((language) => namesIn(wordings[language][part]).sort())
      const [expected] = usedIn('text')
      for (const used of [...usedIn('text'), ...usedIn('html')]) expect(used, id).toEqual(expected)
      const [subject] = usedIn('subject')
      for (const used of usedIn('subject')) expect(used, id).toEqual(subject)
    }
  })

  it('have a different text in each language', () => {
    for (const { id, wordings } of notices.ids.map(notices.of)) {
      const texts = languages.map((language) => wordings[language].text)
      expect(new Set(texts).size, id).toBe(languages.length)
    }
  })
})

describe('the language of a user or account', () => {
  it('is German for each kind of German, and else English', () => {
    for (const tag of ['de', 'de-DE', 'de-at', 'DE_CH']) expect(languageOf(tag), tag).toBe('de')
    for (const tag of ['en', 'en-US', 'fr-FR', 'den', '', undefined]) expect(languageOf(tag), tag).toBe('en')
  })

  it('selects a text', () => {
    expect(localized('25 USD', 'de')).toBe('25 USD')
    expect(localized({ en: 'Payment', de: 'Zahlung' }, 'de')).toBe('Zahlung')
  })
})
