import { ActionIcon, Button, Collapse, Group, Paper, SimpleGrid, Stack, Text, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { ArrowDown, ArrowUp, ChevronDown, ChevronUp, type LucideIcon, Plus, Trash2 } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Json, JsonObject } from '../lib/json.ts'
import type { Schema } from '../lib/schemas.ts'
import { Field, type OwnField, type RecordForm } from './fields.tsx'

const IconButton = ({
  label,
  Icon,
  disabled,
  onClick,
}: {
  label: string
  Icon: LucideIcon
  disabled?: boolean
  onClick: () => void
}) => (
  <Tooltip label={label}>
    <ActionIcon variant="subtle" color="gray" aria-label={label} disabled={disabled} onClick={onClick}>
      <Icon size={16} aria-hidden />
    </ActionIcon>
  </Tooltip>
)

interface ItemFields {
  form: RecordForm
  schema: Schema
  /** The path of the item: `gateways.0`. */
  path: string
  fields: readonly string[]
  own?: Readonly<Record<string, OwnField>>
}

const ItemGrid = ({ form, schema, path, fields, own = {} }: ItemFields) => (
  <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" verticalSpacing="sm" style={{ alignItems: 'end' }}>
    {fields.map((field) => {
      const Own = own[field] ?? Field
      return <Own key={field} form={form} schema={schema} path={`${path}.${field}`} />
    })}
  </SimpleGrid>
)

/** Fields that few items need. A refused one is shown. */
const MoreFields = (props: ItemFields) => {
  const { t } = useTranslation()
  const { form, path, fields } = props
  const [opened, { toggle }] = useDisclosure(false)
  const isRefused = Object.keys(form.errors).some((field) =>
    fields.some((one) => `${field}.`.startsWith(`${path}.${one}.`)),
  )
  const isShown = opened || isRefused
  const Icon = isShown ? ChevronUp : ChevronDown
  return (
    <>
      <Button
        variant="subtle"
        size="compact-sm"
        aria-expanded={isShown}
        rightSection={<Icon size={14} aria-hidden />}
        onClick={toggle}
        style={{ alignSelf: 'flex-start' }}
      >
        {t('items.more')}
      </Button>
      <Collapse expanded={isShown}>
        <ItemGrid {...props} />
      </Collapse>
    </>
  )
}

export interface ItemListProps {
  form: RecordForm
  /** The schema of the whole record. */
  schema: Schema
  /** Where the list is in the record. */
  path: string
  /** The name of one item: `Gateway`. */
  name: string
  /** The name of an item among the others. */
  about: (item: JsonObject) => string | undefined
  /** The text of the button. */
  add: string
  empty: string
  /** What a new item begins with. */
  initial: JsonObject
  /** Fields of an item by their paths in it. */
  fields: readonly string[]
  /** Shown on request. */
  more: readonly string[]
  own?: Readonly<Record<string, OwnField>>
  /** The order of the items has a meaning. */
  isOrdered?: boolean
  /** Below the fields of an item. */
  children?: (path: string) => ReactNode
}

const itemsOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly JsonObject[]) : []

/** A list of objects within the form of a record, which grows and shrinks. */
export const ItemList = (props: ItemListProps) => {
  const { form, schema, path, name, about, add, empty, initial, fields, more, own, isOrdered } = props
  const { t } = useTranslation()
  const items = itemsOf(form.getInputProps(path).value)
  const frame = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const [added, setAdded] = useState<number>()
  // The focus moves to the new item.
  useEffect(() => {
    if (added !== undefined)
      frame.current?.querySelector<HTMLElement>(`[data-item="${added}"] input`)?.focus()
  }, [added])
  const move = (from: number, to: number) => form.reorderListItem(path, { from, to })
  return (
    <Stack ref={frame} gap="sm" style={{ gridColumn: '1 / -1' }}>
      {items.length === 0 && <Text c="dimmed">{empty}</Text>}
      {items.map((item, index) => {
        const title = `${name} ${index + 1}`
        const itemPath = `${path}.${index}`
        const detail = about(item)
        return (
          <Paper
            // biome-ignore lint/suspicious/noArrayIndexKey: items have no id, and the values of their fields are in the form
            key={index}
            data-item={index}
            role="group"
            aria-label={title}
            withBorder
            p="md"
          >
            <Stack gap="sm">
              <Group justify="space-between" wrap="nowrap">
                <Text fw={600} truncate>
                  {title}
                  {detail && (
                    <Text span c="dimmed" fw={400}>
                      {' · '}
                      <bdi>{detail}</bdi>
                    </Text>
                  )}
                </Text>
                <Group gap={4} wrap="nowrap">
                  {isOrdered && items.length > 1 && (
                    <>
                      <IconButton
                        label={t('items.up', { title })}
                        Icon={ArrowUp}
                        disabled={index === 0}
                        onClick={() => move(index, index - 1)}
                      />
                      <IconButton
                        label={t('items.down', { title })}
                        Icon={ArrowDown}
                        disabled={index === items.length - 1}
                        onClick={() => move(index, index + 1)}
                      />
                    </>
                  )}
                  <IconButton
                    label={t('items.remove', { title })}
                    Icon={Trash2}
                    onClick={() => {
                      form.removeListItem(path, index)
                      button.current?.focus()
                    }}
                  />
                </Group>
              </Group>
              <ItemGrid form={form} schema={schema} path={itemPath} fields={fields} own={own} />
              {props.children?.(itemPath)}
              <MoreFields form={form} schema={schema} path={itemPath} fields={more} own={own} />
            </Stack>
          </Paper>
        )
      })}
      <Group>
        <Button
          ref={button}
          variant="default"
          leftSection={<Plus size={16} aria-hidden />}
          onClick={() => {
            // The record may have no list yet.
            form.setFieldValue(path, [...items, structuredClone(initial)])
            setAdded(items.length)
          }}
        >
          {add}
        </Button>
      </Group>
    </Stack>
  )
}
