import { type Envelope, ifMatch, StaleEdit } from '@crosspoint/client'
import { useForm } from '@mantine/form'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { crosspoint } from '../../lib/api.ts'
import { tellFailure } from '../../lib/failures.tsx'
import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { useVersions } from '../../lib/versions.ts'
import type { RecordForm } from '../../parts/fields.tsx'
import { kindOf, pathOf, type Subject } from './subject.ts'

/** A part of a record with its own path, which is replaced as a whole. */
export interface Kept {
  record: JsonObject
  /** The revision of the record; undefined while nothing is stored. */
  revision: string | undefined
  metadata: JsonObject
}

const keptIn = ({ data, revision, metadata }: Envelope): Kept => ({
  record: isObject(data) ? data : {},
  revision,
  metadata: isObject(metadata) ? metadata : {},
})

export const useKept = (subject: Subject, part: string) => {
  const path = `${pathOf(subject)}/${part}`
  return useAnswer([kindOf(subject), subject.accountId, path], async (signal) =>
    keptIn((await crosspoint.request({ path, signal })).envelope),
  )
}

interface Editing {
  subject: Subject
  /** What follows the path of the subject. */
  part: string
  kept: Kept
  valuesOf: (record: JsonObject) => JsonObject
  recordOf: (values: JsonObject) => JsonObject
  /** Shows what a refusal says at the fields; answers with whether it could. */
  setProblems: (form: RecordForm, error: unknown) => boolean
}

/** Refuses a change of what is no longer as it was read; what was not there may not be there yet. */
const unlessChanged = (revision: string | undefined) =>
  revision === undefined ? { 'if-none-match': '*' } : ifMatch({ revision })

const isSame = (one: Json, other: Json) => JSON.stringify(one) === JSON.stringify(other)

/** The initial values of the form. A newer version is loaded only if nothing was typed. */
const useBase = ({ kept, valuesOf }: Editing, form: RecordForm) => {
  const [base, setBase] = useState(kept)
  const revisionOf = ({ revision = '' }: Kept) => revision
  const { isNewer, leave } = useVersions(revisionOf(kept), revisionOf(base))
  const fill = (next: Kept) => {
    setBase(next)
    form.setInitialValues(valuesOf(next.record))
    form.reset()
  }
  useEffect(() => {
    if (!isNewer) return
    // The record changed in another part: what is kept here did not.
    if (isSame(kept.record, base.record)) setBase(kept)
    else if (!form.isDirty()) fill(kept)
  })
  const leaveBase = () => leave(revisionOf(base))
  return {
    base,
    /** The data sent at this revision is stored as `found`. */
    saved: (found: Kept, revision = '') => {
      leave(revisionOf(base), revision)
      if (form.isDirty()) setBase(found)
      else fill(found)
    },
    takeTheirs: (theirs: Kept) => {
      leaveBase()
      fill(theirs)
    },
    goOnFrom: (found: Kept) => {
      leaveBase()
      setBase(found)
    },
  }
}

/** Replaces or removes the stored part. After a conflicting change, `theirs` is the current version. */
export const useEditing = (editing: Editing) => {
  const { t } = useTranslation()
  const { subject, part, valuesOf, recordOf, setProblems } = editing
  const path = `${pathOf(subject)}/${part}`
  const form: RecordForm = useForm<JsonObject>({ initialValues: valuesOf(editing.kept.record) })
  const { base, saved, takeTheirs, goOnFrom } = useBase(editing, form)
  const [theirs, setTheirs] = useState<Kept>()
  const mine = () => recordOf(form.getValues())
  const compare = (found: Kept) => {
    if (!isSame(found.record, base.record)) return setTheirs(found)
    goOnFrom(found)
    send(found.revision)
  }
  const saving = useChange({
    touches: [kindOf(subject)],
    run: ({ revision, values }: { revision: string | undefined; values: JsonObject }) =>
      crosspoint.request({ method: 'POST', path, data: recordOf(values), headers: unlessChanged(revision) }),
    done: ({ envelope }, { revision, values }) => {
      setTheirs(undefined)
      // Text typed during the request is not saved yet.
      form.resetDirty(values)
      saved(keptIn(envelope), revision)
      tellDone(t('saved'))
    },
    failed: (error) => {
      if (!(error instanceof StaleEdit)) return setProblems(form, error)
      void error.current().then((envelope) => compare(keptIn(envelope)), tellFailure)
      return true
    },
  })
  const send = (revision: string | undefined) =>
    saving.mutate({ revision, values: structuredClone(form.getValues()) })
  const removing = useChange({
    touches: [kindOf(subject)],
    run: () => crosspoint.request({ method: 'DELETE', path }),
    done: () => {
      form.resetDirty()
      tellDone(t('deleted'))
    },
  })
  return {
    form,
    base,
    mine,
    busy: saving.isPending,
    save: () => send(base.revision),
    remove: () => removing.mutate(undefined),
    stale: theirs && {
      mine: mine(),
      theirs: theirs.record,
      busy: saving.isPending,
      onKeepMine: () => send(theirs.revision),
      onTakeTheirs: () => {
        takeTheirs(theirs)
        setTheirs(undefined)
      },
      onClose: () => setTheirs(undefined),
    },
  }
}
