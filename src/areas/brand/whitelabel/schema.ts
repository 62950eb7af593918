import type { Static } from 'typebox'
import { anyText, flag, must, open, text } from '../../../lib/schema.ts'

const link = (description: string) => text(0, 2048, { description })
const hostField = (description: string) => text(0, 512, { description })
const price = (description: string) => text(0, 64, { description: `${description}, for display only` })

const Nav = open({
  help: link('URL of the help'),
  learn_more: link('URL of more information'),
})

const Port = open(
  {
    authority: text(0, 64, { description: 'The account that administers port requests' }),
    features: link('Features of ported numbers'),
    loa: link('Letter of authorisation'),
    resporg: link('Form for responsible organisations'),
    terms: link('Terms of porting'),
    support_email: anyText({ format: 'email', maxLength: 254, description: 'Shown to users' }),
  },
  { description: 'About port requests' },
)

const Commland = open({
  downloads: open({
    deb: link('For Debian'),
    mac: link('For macOS'),
    rpm: link('For Red Hat'),
    windows: link('For Windows'),
  }),
})

const brandFields = {
  company_name: text(0, 256),
  application_title: text(0, 128, {
    description: 'Name of the web interface; default: the company name',
  }),
  // Web forms send empty texts.
  brand_color: anyText({
    pattern: '^(?:#[0-9A-Fa-f]{6})?$',
    description: 'The colour of buttons and links in the web interface: #rrggbb',
  }),
  domain: hostField('Host of the web interface; only one account can have it'),
  conference_public_domain: hostField('Host for joining conferences'),
  fake_api_url: link('URL of the API, as shown to developers'),
  hide_credits: flag({ default: false }),
  hide_powered: flag({ default: false, description: 'Hides the name of the software' }),
  hide_registration: flag({ default: false, description: 'Hides the registration of new accounts' }),
  inbound_trunks_price: price('Price of an inbound trunk'),
  outbound_trunks_price: price('Price of an outbound trunk'),
  twoway_trunks_price: price('Price of a two-way trunk'),
  nav: Nav,
  port: Port,
  commland: Commland,
}

export const Whitelabel = open(brandFields, {
  title: 'Whitelabel settings',
  description: 'Branding of an account. Other fields are stored',
})
export type Whitelabel = Static<typeof Whitelabel>

export const WhitelabelRecord = open(
  { id: must(anyText({ readOnly: true, description: 'Always `whitelabel`' })), ...brandFields },
  { title: 'Whitelabel record' },
)
