// What servers of the family have and this one has not: clients ask for it, and are told so instead of a bare 404.
const unbuilt = new Set(
  (
    'acdc_call_stats agents apps_link blacklists braintree bulk cccps ' +
    'clicktocall conferences contact_list dialplans directories domain_hosts external_numbers faxboxes faxes ' +
    'global_provisioner_templates global_resources hotdesks ip_auth ips jobs lists ' +
    'local_provisioner_templates local_resources media menus messages metaflows onboard parked_calls phonebook pivot ' +
    'port_requests presence privacy provisioner_templates queues resource_selectors resource_templates ' +
    'shared_auth signup simple_authz skels sms storage sup system_status temporal_rules temporal_rules_sets ' +
    'templates trunkstore ubiquiti_auth vmboxes'
  ).split(' '),
)

/** The first word of a path that names something of the family that is not built here. */
export const unbuiltIn = (segments: readonly string[]): string | undefined =>
  segments.find((segment) => unbuilt.has(segment))
