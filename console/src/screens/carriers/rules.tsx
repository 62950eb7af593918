import { ActionIcon, Button, Group, Stack, Text, TextInput, Tooltip } from '@mantine/core'
import { CircleCheck, CircleX, Plus, Trash2 } from 'lucide-react'
import { useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { labelOf, type OwnField } from '../../parts/fields.tsx'

const textsIn = (value: unknown) => (Array.isArray(value) ? value.map(String) : [])

/** Undefined: this browser cannot read the pattern. The server uses RE2, which is the same for usual patterns. */
const matchOf = (rule: string, number: string) => {
  try {
    return new RegExp(rule).exec(number)
  } catch {
    return undefined
  }
}

const monospace = { input: { fontFamily: 'var(--mantine-font-family-monospace)' } }

/** Which rule a number matches, and what the carrier gets. */
const Tester = ({ rules }: { rules: readonly string[] }) => {
  const { t } = useTranslation()
  const [number, setNumber] = useState('')
  const tried = rules.map((rule) => (rule === '' ? null : matchOf(rule, number)))
  const at = tried.findIndex((match) => match)
  const found = tried[at]
  const Icon = found ? CircleCheck : CircleX
  const unread = tried.flatMap((match, index) => (match === undefined ? [index + 1] : []))
  return (
    <Stack gap={4}>
      <TextInput
        label={t('carriers.test')}
        description={t('carriers.testText')}
        type="tel"
        value={number}
        onChange={({ currentTarget: { value } }) => setNumber(value.trim())}
        maw="24rem"
      />
      {number !== '' && (
        <Group gap="xs" role="status" wrap="nowrap">
          <Icon
            size={16}
            aria-hidden
            color={`var(--mantine-color-${found ? 'green' : 'red'}-text)`}
            style={{ flexShrink: 0 }}
          />
          <Text size="sm">
            {found
              ? t('carriers.matches', { rule: at + 1, number: found[1] ?? number })
              : t('carriers.noMatch')}
          </Text>
        </Group>
      )}
      {number !== '' && unread.length > 0 && (
        <Text size="sm" c="dimmed">
          {t('carriers.cannotTest', { rules: unread.join(', ') })}
        </Text>
      )}
    </Stack>
  )
}

/** Regular expressions, one in each line. */
const RuleList: OwnField = ({ form, path }) => {
  const { t } = useTranslation()
  const rules = textsIn(form.getInputProps(path).value)
  const frame = useRef<HTMLDivElement>(null)
  const title = labelOf(path)
  const add = () => {
    form.setFieldValue(path, [...rules, ''])
    // After the new line is there.
    requestAnimationFrame(() => [...(frame.current?.querySelectorAll('input') ?? [])].at(-1)?.focus())
  }
  return (
    <Stack ref={frame} gap="xs" role="group" aria-label={title}>
      <div>
        <Text size="sm" fw={500}>
          {title}
        </Text>
        <Text size="xs" c="dimmed">
          {t(`carriers.${path}Text`)}
        </Text>
      </div>
      {rules.map((rule, index) => {
        const name = t(`carriers.rule.${path}`, { number: index + 1 })
        const remove = t('items.remove', { title: name })
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no id, and keep no state
          <Group key={index} gap="xs" wrap="nowrap" align="flex-start">
            <TextInput
              {...form.getInputProps(`${path}.${index}`)}
              value={rule}
              aria-label={name}
              styles={monospace}
              style={{ flexGrow: 1 }}
              spellCheck={false}
            />
            <Tooltip label={remove}>
              <ActionIcon
                variant="subtle"
                color="gray"
                size="input-sm"
                aria-label={remove}
                onClick={() => form.removeListItem(path, index)}
              >
                <Trash2 size={16} aria-hidden />
              </ActionIcon>
            </Tooltip>
          </Group>
        )
      })}
      <Group>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<Plus size={14} aria-hidden />}
          onClick={add}
        >
          {t(`carriers.add.${path}`)}
        </Button>
      </Group>
    </Stack>
  )
}

export const CallerRules = RuleList

export const NumberRules: OwnField = (props) => (
  <Stack gap="md">
    <RuleList {...props} />
    <Tester rules={textsIn(props.form.getInputProps(props.path).value)} />
  </Stack>
)
