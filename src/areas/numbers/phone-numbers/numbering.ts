import { normalizeNumber } from '../../../lib/e164.ts'
import { failure } from '../../../lib/failure.ts'
import { compilePattern } from '../../../lib/pattern.ts'
import type { Settings } from '../../../settings/settings.ts'
import { phoneMetadata } from './dial-code.ts'
import { notReconcilable } from './failures.ts'
import { numberManagerSettings } from './settings.ts'

export interface Classifier {
  regex: string
  friendly_name?: string | undefined
  pretty_print?: string | undefined
  emergency?: boolean | undefined
}

const usFormat = 'SS(###) ###-####'

/** The first match counts. Toll-free numbers match other classifiers, too. */
const standardClassifiers: Readonly<Record<string, Classifier>> = {
  tollfree_us: {
    regex: '^\\+1((?:800|88\\d|877|866|855|844|833|822)\\d{7})$',
    friendly_name: 'US TollFree',
    pretty_print: usFormat,
  },
  toll_us: { regex: '^\\+1(900\\d{7})$', friendly_name: 'US Toll', pretty_print: usFormat },
  emergency: {
    regex: '^(911|922|933|988|833|811|711|999)$',
    friendly_name: 'Emergency Dispatcher',
    emergency: true,
  },
  caribbean: {
    regex:
      '^\\+?1((?:684|264|268|242|246|441|284|345|767|809|829|849|473|671|876|664|670|787|939|869|758|784|721|868|649|340)\\d{7})$',
    friendly_name: 'Caribbean',
    pretty_print: usFormat,
  },
  did_us: {
    regex: '^(\\+?1)?([2-9][0-9]{2}[2-9][0-9]{6})$',
    friendly_name: 'US DID',
    pretty_print: usFormat,
  },
  international: { regex: '^\\+([2-9]\\d{7,})$', friendly_name: 'International' },
  unknown: { regex: '^(.*)$', friendly_name: 'Unknown' },
}

export interface Numbering {
  classifiers: Readonly<Record<string, Classifier>>
  normalize(text: string): string
  /** Whether the inventory may have the normalised number. */
  isReconcilable(number: string): boolean
  classOf(number: string): string | undefined
}

/** Replace the standard rules. Converters are tried in order. */
interface NumberingSettings {
  reconcile_regex?: string | undefined
  e164_converters?: Readonly<Record<string, { prefix?: string; suffix?: string }>> | undefined
  classifiers?: Readonly<Record<string, Classifier>> | undefined
}

// E.164 has at most 15 digits.
const standardReconcile = /^\+(?:1\d{10}|[2-9]\d{7,14})$/

// Limit of index entries, whatever a pattern allows.
const maxNumberLength = 32

/** An unreadable pattern, which its document refuses, matches nothing. */
const foreignPattern = (text: string) => compilePattern(text).pattern

const compileConverters = (converters: NonNullable<NumberingSettings['e164_converters']>) => {
  const compiled = Object.entries(converters).flatMap(([regex, { prefix = '', suffix = '' }]) => {
    const pattern = foreignPattern(regex)
    return pattern ? [{ pattern, prefix, suffix }] : []
  })
  return (text: string) => {
    if (text.startsWith('+')) return text
    for (const { pattern, prefix, suffix } of compiled) {
      const captured = pattern.lastGroup(text)
      if (captured !== undefined) return prefix + captured + suffix
    }
    return text
  }
}

type Test = (number: string) => boolean

const standardTests: [string, Test][] = Object.entries(standardClassifiers).map(([name, { regex }]) => {
  const pattern = new RegExp(regex)
  return [name, (number) => pattern.test(number)]
})

const foreignTests = (classifiers: Readonly<Record<string, Classifier>>): [string, Test][] =>
  Object.entries(classifiers).flatMap(([name, { regex }]) => {
    const pattern = foreignPattern(regex)
    return pattern ? [[name, pattern.matches]] : []
  })

export const compileNumbering = (settings: NumberingSettings): Numbering => {
  const { reconcile_regex: reconcile, e164_converters: converters, classifiers } = settings
  const reconcilable = reconcile === undefined ? undefined : foreignPattern(reconcile)
  const tests = classifiers ? foreignTests(classifiers) : standardTests
  return {
    classifiers: classifiers ?? standardClassifiers,
    normalize: converters ? compileConverters(converters) : normalizeNumber,
    isReconcilable: (number) =>
      number.length <= maxNumberLength &&
      (reconcilable ? reconcilable.matches(number) : standardReconcile.test(number)),
    classOf: (number) => tests.find(([, fits]) => fits(number))?.[0],
  }
}

/** ISO 3166-1 alpha-2, or empty. */
export const countryOf = (number: string): string =>
  phoneMetadata().parsePhoneNumberFromString(number)?.country ?? ''

interface Classification extends Partial<Classifier> {
  number: string
  e164: string
  name?: string
}

const shortCode = /^\d{1,6}$/

export type NumberPlanning = ReturnType<typeof createNumberPlanning>

export const createNumberPlanning = (settings: Settings) => {
  const compiled = new WeakMap<object, Numbering>()

  /** The same object until the settings change. */
  const rules = async (): Promise<Numbering> => {
    const section = await settings.of(numberManagerSettings)
    const known = compiled.get(section) ?? compileNumbering(section)
    compiled.set(section, known)
    return known
  }

  const classify = async (number: string): Promise<Classification> => {
    const { normalize, classOf, classifiers } = await rules()
    const e164 = shortCode.test(number) ? number : normalize(number)
    const name = classOf(e164)
    return { ...(name === undefined ? {} : { ...classifiers[name], name }), number, e164 }
  }

  return {
    rules,
    /** Consoles read the name in each classifier, too. */
    async named() {
      const { classifiers } = await rules()
      return Object.fromEntries(
        Object.entries(classifiers).map(([name, classifier]) => [name, { ...classifier, name }]),
      )
    },

    classify,

    classOf: async (number: string) => (await classify(number)).name,

    normalize: async (text: string) => (await rules()).normalize(text),

    /** The normalised number. Throws if it is none. */
    async reconcile(text: string): Promise<string> {
      const { normalize, isReconcilable } = await rules()
      const number = normalize(text)
      if (!isReconcilable(number)) throw failure(notReconcilable, { number: text })
      return number
    },
  }
}
