import { deleteWhitelabel, replaceWhitelabel, type WhitelabelRecord } from '@crosspoint/client'
import { Button, Group } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { withChanges } from '../../lib/json.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { RecordFormTabs } from '../../parts/record-form.tsx'
import { groups, own } from './fields.tsx'

const kinds = ['whitelabel', 'whitelabel_file', 'whitelabel_email']

const DeleteBrand = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [opened, { open, close }] = useDisclosure(false)
  const deleting = useChange({
    touches: kinds,
    run: () => deleteWhitelabel({ ...api, path: { account_id: accountId } }),
    done: () => tellDone(t('deleted')),
  })
  return (
    <Group mt="md">
      <Button variant="default" onClick={open}>
        {t('brand.delete')}
      </Button>
      <Confirm
        opened={opened}
        title={t('brand.deleteTitle')}
        text={t('brand.deleteText')}
        action={t('delete')}
        busy={deleting.isPending}
        onConfirm={() => deleting.mutate(undefined)}
        onClose={close}
      />
    </Group>
  )
}

/** The settings of a brand. */
export const BrandRecord = ({ data, revision }: { data: WhitelabelRecord; revision: string }) => {
  const { accountId } = usePlace()
  const path = { account_id: accountId }
  return (
    <>
      <RecordFormTabs
        kind="whitelabel"
        apiPath={`/v2/accounts/${accountId}/whitelabel`}
        schemaName="whitelabel"
        groups={groups}
        own={own}
        record={data}
        revision={revision}
        hasHistory={false}
        // There is no PATCH of a brand: what was not changed is sent back as it was read.
        save={(changes, more, record) =>
          replaceWhitelabel({
            ...api,
            ...more,
            path,
            body: { data: withChanges(record, changes) },
          })
        }
      />
      <DeleteBrand />
    </>
  )
}
