/** The documents of settings by what they are about. Others are shown at the end. */
export const areas = [
  {
    id: 'accounts',
    documents: [
      'crossbar.auth',
      'auth.password',
      'passkeys',
      'api_keys',
      'crossbar.token_restrictions',
      'crossbar.accounts',
      'crossbar.configs',
      'quotas',
    ],
  },
  {
    id: 'calls',
    documents: ['switch', 'routing', 'provisioner', 'frontier', 'ingest', 'cdr', 'crossbar.cdrs', 'rates'],
  },
  {
    id: 'numbers',
    documents: [
      'number_manager',
      'number_manager.other',
      'number_manager.locality',
      'crossbar.phone_numbers',
    ],
  },
  {
    id: 'billing',
    documents: [
      'services',
      'services.invoices',
      'services.dunning',
      'services.stripe',
      'services.http_sync',
      'topup',
    ],
  },
  { id: 'branding', documents: ['whitelabel', 'apps_store'] },
  { id: 'events', documents: ['events', 'webhooks', 'blackhole', 'alerts', 'crossbar.alerts'] },
  { id: 'server', documents: ['crossbar', 'token_buckets', 'tasks'] },
] as const

/** The key of the texts of a document. */
export const textKey = (name: string) => `system.config.${name.replaceAll('.', '_')}`
