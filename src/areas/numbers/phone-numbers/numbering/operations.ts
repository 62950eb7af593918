import { failure } from '../../../../lib/failure.ts'
import type { Settings } from '../../../../settings/settings.ts'
import { notReconcilable } from '../failures.ts'
import { numberManagerSettings } from '../settings.ts'
import { type Classifier, compileNumbering, type Numbering } from './rules.ts'

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
