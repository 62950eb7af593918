import { Group, Radio } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { isObject, type JsonObject, valueAt } from '../../lib/json.ts'
import { Field, type FieldGroup, labelOf, type OwnField } from '../../parts/fields.tsx'
import { ItemList } from '../../parts/item-list.tsx'
import { ServerNumbers } from './numbers.tsx'

const servers: FieldGroup = {
  title: 'trunks.servers',
  fields: ['servers', 'servers.*.options.failover.e164', 'servers.*.auth.auth_method'],
}

export const groups: readonly FieldGroup[] = [
  { title: 'trunks.basics', fields: ['name', 'account.auth_realm'] },
  servers,
]

/** What is asked of a new trunk. Few have their own realm. */
export const newGroups: readonly FieldGroup[] = [{ title: 'trunks.basics', fields: ['name'] }, servers]

const methods = ['Password', 'IP'] as const

export const newServer: JsonObject = { auth: { auth_method: 'Password' }, options: { failover: {} } }

/** The values of a method differ only in case. */
const methodOf = (auth: unknown) =>
  isObject(auth) && String(auth.auth_method).toLowerCase() === 'ip' ? 'IP' : 'Password'

const Method: OwnField = ({ form, path }) => {
  const { t } = useTranslation()
  const { value, ...input } = form.getInputProps(path)
  return (
    <Radio.Group {...input} value={methodOf({ auth_method: value })} label={labelOf(path)}>
      <Group gap="md" mih={36}>
        {methods.map((method) => (
          <Radio key={method} value={method} label={t(`trunks.method.${method}`)} />
        ))}
      </Group>
    </Radio.Group>
  )
}

/** A field that servers of one method have. */
const onlyWith =
  (method: (typeof methods)[number]): OwnField =>
  (props) => {
    const auth = props.form.getInputProps(props.path.split('.').slice(0, -1).join('.')).value
    return methodOf(auth) === method ? <Field {...props} /> : null
  }

const serverFields = [
  'server_name',
  'auth.auth_method',
  'auth.auth_user',
  'auth.auth_password',
  'auth.ip',
  'auth.port',
  'DIDs',
  'options.enabled',
]

const moreServerFields = [
  'options.inbound_format',
  'options.ip',
  'options.port',
  'options.delay',
  'options.timeout',
  'options.progress_timeout',
  'options.failover.e164',
  'options.failover.sip',
  'options.sip_headers',
]

const ownOfServer: Readonly<Record<string, OwnField>> = {
  'auth.auth_method': Method,
  'auth.auth_user': onlyWith('Password'),
  'auth.auth_password': onlyWith('Password'),
  'auth.ip': onlyWith('IP'),
  'auth.port': onlyWith('IP'),
  DIDs: ServerNumbers,
}

const aboutServer = (server: JsonObject) => {
  const [name, user, address] = ['server_name', 'auth.auth_user', 'auth.ip'].map((path) =>
    valueAt(server, path),
  )
  const about = name || (methodOf(server.auth) === 'IP' ? address : user)
  return typeof about === 'string' ? about : undefined
}

const Servers: OwnField = (props) => {
  const { t } = useTranslation()
  return (
    <ItemList
      {...props}
      name={t('trunks.server')}
      about={aboutServer}
      add={t('trunks.addServer')}
      empty={t('trunks.noServers')}
      initial={newServer}
      fields={serverFields}
      more={moreServerFields}
      own={ownOfServer}
    />
  )
}

export const own: Readonly<Record<string, OwnField>> = { servers: Servers }
