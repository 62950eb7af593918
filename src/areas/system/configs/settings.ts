import { Type } from 'typebox'
import { section, settingsDocument } from '../../../settings/keys.ts'

// Documents of a Kazoo cluster about its own machines.
const clusterDocuments = [
  'braintree',
  'datamgr',
  'ecallmgr',
  'fs_nodes',
  'kazoo_amqp',
  'kazoo_couch',
  'number_manager',
  'smtp_client',
  'sysconf',
]

const configs = section('Settings of the reseller and the system that accounts can see', {
  hidden_documents: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
    default: clusterDocuments,
    description:
      'Names of documents that accounts cannot read or write under /configs: the response is 404. A name also hides the documents below it: `number_manager` hides `number_manager.inum`. Under every other name that the server itself does not use, an account reads the values of the system, of its reseller and its own, merged. Passwords, tokens and keys of others are not shown: texts whose key ends in `key`, `token`, `pass` or the like',
  }),
})

export const configsSettings = settingsDocument('crossbar.configs', configs)
