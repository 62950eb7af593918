import { type Envelope, ifMatch, StaleEdit } from '@crosspoint/client'
import { Button, Group, JsonInput, Stack, Tabs } from '@mantine/core'
import { useForm } from '@mantine/form'
import { type ReactNode, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../lib/answers.ts'
import { tellFailure } from '../lib/failures.tsx'
import { changesOnto, isObject, type JsonObject, jsonObjectOf, withChanges } from '../lib/json.ts'
import { type Schema, useSchema, withoutDefaults } from '../lib/schemas.ts'
import { tellDone } from '../lib/toasts.tsx'
import { useVersions } from '../lib/versions.ts'
import {
  type FieldGroup,
  Fields,
  type OwnField,
  type RecordForm,
  recordFrom,
  setProblems,
  valuesFor,
} from './fields.tsx'
import { HistoryTab } from './history-tab.tsx'
import { Loading } from './screen.tsx'
import { StaleDialog } from './stale-dialog.tsx'

/** Sent with a change, so that it does not overwrite a newer version. */
export interface IfMatch {
  headers: Record<string, string>
}

// Records that were never written, such as default settings, have no revision.
const matching = (revision: string): IfMatch => ({ headers: revision === '' ? {} : ifMatch({ revision }) })

interface RecordFormProps {
  /** Kind of the record, as its events name it: what was read of it is read again after a change. */
  kind: string
  /** The path of the record, for the tab "History". */
  apiPath: string
  schemaName: string
  groups: readonly FieldGroup[]
  own?: Readonly<Record<string, OwnField>>
  record: JsonObject
  /** The revision that the record was read at; empty where nothing is stored yet. */
  revision: string
  /** Sends what changed of a record, as PATCH takes it. */
  save: (changes: JsonObject, more: IfMatch, record: JsonObject) => Promise<unknown>
  /** Keys that a conflict never mixes with another version: trees, for example. */
  whole?: readonly string[]
  hasHistory?: boolean
  /** Defaults are shown as such: a field that has its default is empty, and others can be reset. */
  showsDefaults?: boolean
  tabs?: readonly { id: string; title: string; show: () => ReactNode }[]
}

interface Base {
  record: JsonObject
  revision: string
}

/** The request data and the version it is based on. */
interface Sent {
  changes: JsonObject
  revision: string
  /** The record that is changed, at that revision. */
  record: JsonObject
  values: JsonObject
}

/** The current version after a conflicting change. */
const useTheirs = () => {
  const [theirs, setTheirs] = useState<Base>()
  return {
    theirs,
    forgetTheirs: () => setTheirs(undefined),
    readTheirs: (stale: StaleEdit) => {
      const take = ({ data, revision = '' }: Envelope) =>
        isObject(data) && setTheirs({ record: data, revision })
      void stale.current().then(take, tellFailure)
    },
  }
}

/** The record as the form has it. */
const inForm = ({ showsDefaults }: RecordFormProps, schema: Schema, record: JsonObject) =>
  showsDefaults ? withoutDefaults(record, schema) : record

/** Saves and detects conflicting changes: `theirs` is then the current version. */
const useSaving = (
  props: RecordFormProps,
  form: RecordForm,
  schema: Schema,
  { base, leave }: { base: Base; leave: (revision: string) => void },
) => {
  const { t } = useTranslation()
  const { theirs, forgetTheirs, readTheirs } = useTheirs()
  const saving = useChange({
    touches: [props.kind],
    run: ({ changes, revision, record }: Sent) => props.save(changes, matching(revision), record),
    done: (_answer, { values, revision }) => {
      forgetTheirs()
      leave(revision)
      // Text typed during the request is not saved yet.
      form.resetDirty(values)
      tellDone(t('saved'))
    },
    failed: (error) => {
      if (!(error instanceof StaleEdit)) return setProblems(form, error)
      readTheirs(error)
      return true
    },
  })
  const changes = (onto: JsonObject) =>
    changesOnto(onto, {
      before: recordFrom(inForm(props, schema, base.record), props.groups, schema),
      after: recordFrom(form.getValues(), props.groups, schema),
      whole: props.whole,
    })
  const send = ({ record, revision }: Base) =>
    saving.mutate({ changes: changes(record), revision, record, values: structuredClone(form.getValues()) })
  return { send, changes, busy: saving.isPending, theirs, forgetTheirs }
}

/** The initial values of the form: a newer version is loaded only if nothing was typed. */
const useBase = (props: RecordFormProps, form: RecordForm, schema: Schema) => {
  const [base, setBase] = useState<Base>({ record: props.record, revision: props.revision })
  const { isNewer, leave } = useVersions(props.revision, base.revision)
  const fill = (next: Base) => {
    setBase(next)
    form.setInitialValues(valuesFor(inForm(props, schema, next.record), props.groups))
    form.reset()
  }
  useEffect(() => {
    if (isNewer && !form.isDirty()) fill({ record: props.record, revision: props.revision })
  })
  const takeTheirs = (theirs: Base) => {
    leave(base.revision)
    fill(theirs)
  }
  return { base, leave: (revision: string) => leave(base.revision, revision), takeTheirs }
}

const FormTab = ({ schema, props }: { schema: Schema; props: RecordFormProps }) => {
  const { t } = useTranslation()
  const form: RecordForm = useForm<JsonObject>({
    initialValues: valuesFor(inForm(props, schema, props.record), props.groups),
  })
  const { base, leave, takeTheirs } = useBase(props, form, schema)
  const { send, changes, busy, theirs, forgetTheirs } = useSaving(props, form, schema, { base, leave })
  return (
    <form onSubmit={form.onSubmit(() => send(base))} noValidate>
      <Stack gap="lg">
        <Fields
          form={form}
          schema={schema}
          groups={props.groups}
          own={props.own}
          canReset={props.showsDefaults}
        />
        <Group className="form-actions">
          <Button type="submit" loading={busy} disabled={!form.isDirty()}>
            {t('save')}
          </Button>
          <Button variant="default" disabled={!form.isDirty()} onClick={() => form.reset()}>
            {t('discard')}
          </Button>
        </Group>
      </Stack>
      {theirs && (
        <StaleDialog
          mine={withChanges(theirs.record, changes(theirs.record))}
          theirs={theirs.record}
          busy={busy}
          onKeepMine={() => send(theirs)}
          onTakeTheirs={() => {
            takeTheirs(theirs)
            forgetTheirs()
          }}
          onClose={forgetTheirs}
        />
      )}
    </form>
  )
}

const jsonOf = (text: string) => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const textOf = (record: JsonObject) => JSON.stringify(record, undefined, 2)

/** The request data made from JSON text, and the version it is based on. */
interface SentText {
  changes: JsonObject
  base: Base
  text: string
}

const useJson = (props: RecordFormProps) => {
  const { t } = useTranslation()
  const [base, setBase] = useState<Base>({ record: props.record, revision: props.revision })
  const [text, setText] = useState(() => textOf(props.record))
  const { isNewer, leave } = useVersions(props.revision, base.revision)
  const { theirs, forgetTheirs, readTheirs } = useTheirs()
  const isEdited = text !== textOf(base.record)
  const take = (next: Base) => {
    forgetTheirs()
    setBase(next)
    setText(textOf(next.record))
  }
  const takeTheirs = (found: Base) => {
    leave(base.revision)
    take(found)
  }
  // A newer version is taken over only where nothing was typed.
  if (isNewer && !isEdited) take({ record: props.record, revision: props.revision })
  const saving = useChange({
    touches: [props.kind],
    run: ({ changes, base: { record, revision } }: SentText) =>
      props.save(changes, matching(revision), record),
    done: (_answer, sent) => {
      const record = withChanges(sent.base.record, sent.changes)
      forgetTheirs()
      leave(base.revision, sent.base.revision)
      setBase({ ...sent.base, record })
      // Text typed during the request is not saved yet.
      setText((now) => (now === sent.text ? textOf(record) : now))
      tellDone(t('saved'))
    },
    failed: (error) => {
      if (!(error instanceof StaleEdit)) return false
      readTheirs(error)
      return true
    },
  })
  const record = jsonOf(text)
  const changes = (onto: JsonObject) =>
    record ? changesOnto(onto, { before: base.record, after: record, whole: props.whole }) : {}
  const send = (onto: Base) => saving.mutate({ changes: changes(onto.record), base: onto, text })
  return {
    text,
    setText,
    record,
    isEdited,
    changes,
    base,
    discard: () => setText(textOf(base.record)),
    takeTheirs,
    send,
    busy: saving.isPending,
    theirs,
    forgetTheirs,
  }
}

const JsonTab = ({ props }: { props: RecordFormProps }) => {
  const { t } = useTranslation()
  const {
    text,
    setText,
    record,
    isEdited,
    changes,
    base,
    discard,
    takeTheirs,
    send,
    busy,
    theirs,
    forgetTheirs,
  } = useJson(props)
  return (
    <Stack>
      <JsonInput
        label={t('record.json')}
        value={text}
        onChange={setText}
        autosize
        minRows={10}
        maxRows={40}
        error={record ? undefined : t('record.noJson')}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      />
      <Group>
        <Button disabled={!record || !isEdited} loading={busy} onClick={() => send(base)}>
          {t('save')}
        </Button>
        <Button variant="default" disabled={!isEdited} onClick={discard}>
          {t('discard')}
        </Button>
      </Group>
      {theirs && (
        <StaleDialog
          mine={withChanges(theirs.record, changes(theirs.record))}
          theirs={theirs.record}
          busy={busy}
          onKeepMine={() => send(theirs)}
          onTakeTheirs={() => takeTheirs(theirs)}
          onClose={forgetTheirs}
        />
      )}
    </Stack>
  )
}

/** One record: as a form, as JSON, as API requests, and its history. */
export const RecordFormTabs = ({ record, ...rest }: Omit<RecordFormProps, 'record'> & { record: object }) => {
  const props = { ...rest, record: jsonObjectOf(record) }
  const { t } = useTranslation()
  const { schema } = useSchema(props.schemaName)
  const [tab, setTab] = useState<string | null>('form')
  return (
    <Tabs value={tab} onChange={setTab} keepMounted={false}>
      <Tabs.List mb="md">
        <Tabs.Tab value="form">{t('record.form')}</Tabs.Tab>
        {props.tabs?.map(({ id, title }) => (
          <Tabs.Tab key={id} value={id}>
            {title}
          </Tabs.Tab>
        ))}
        <Tabs.Tab value="json">JSON</Tabs.Tab>
        {props.hasHistory !== false && <Tabs.Tab value="history">{t('record.history')}</Tabs.Tab>}
      </Tabs.List>
      <Tabs.Panel value="form" keepMounted>
        {schema ? <FormTab schema={schema} props={props} /> : <Loading />}
      </Tabs.Panel>
      {props.tabs?.map(({ id, show }) => (
        <Tabs.Panel key={id} value={id}>
          {show()}
        </Tabs.Panel>
      ))}
      <Tabs.Panel value="json">
        <JsonTab props={props} />
      </Tabs.Panel>
      <Tabs.Panel value="history">
        <HistoryTab apiPath={props.apiPath} />
      </Tabs.Panel>
    </Tabs>
  )
}
