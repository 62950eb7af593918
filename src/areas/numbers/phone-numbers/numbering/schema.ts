import { anyText, flag, keyed, must, open } from '../../../../lib/schema.ts'

const fields = {
  regex: anyText(),
  friendly_name: anyText(),
  pretty_print: anyText({ description: '# takes a character, S skips one, * takes the rest' }),
  emergency: flag(),
  name: anyText(),
}

export const Classifiers = keyed(open(fields), { title: 'Number classifiers' })

export const Classification = open(
  { ...fields, number: must(anyText()), e164: must(anyText()) },
  { title: 'Classification of a number' },
)
