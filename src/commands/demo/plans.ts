export interface Plan {
  name: string
  description: string
  category: string
  plan: object
}

const tax = { name: 'MwSt.', rate: 19, tax_id: 'mwst', jurisdiction: 'DE' }
const byDay = { additions: true, removals: true }

export const harborPlans: readonly Plan[] = [
  {
    name: 'Business seats',
    description: 'A price for each phone, less from the tenth on',
    category: 'Seats',
    plan: {
      devices: {
        _all: { name: 'Seat', as: 'seat', rate: 9, rates: { 9: 12 }, activation_charge: 5, prorate: byDay },
      },
      phone_numbers: { did_us: { name: 'US number', rate: 1.5, activation_charge: 1 } },
    },
  },
  {
    name: 'Contact centre',
    description: 'Seats by tier, numbers included up to ten',
    category: 'Seats',
    plan: {
      devices: {
        _all: {
          name: 'Agent',
          as: 'agent',
          rate: 14,
          rates: { 10: 19, 25: 16 },
          discounts: { cumulative: { maximum: 5, rate: 2 } },
          prorate: byDay,
        },
      },
      phone_numbers: {
        did_us: { name: 'US number', rate: 1, discounts: { cumulative: { maximum: 10, rate: 1 } } },
      },
    },
  },
  {
    name: 'Corner shop',
    description: 'Two phones and a number for one price',
    category: 'Seats',
    plan: {
      devices: { _all: { name: 'Phone', as: 'phone', rate: 6, flat_rates: { 2: 15 } } },
      phone_numbers: { did_us: { name: 'US number', rate: 2, discounts: { single: { rate: 2 } } } },
    },
  },
]

export const spreePlans: readonly Plan[] = [
  {
    name: 'Telefonanlage',
    description: 'Je Nebenstelle, zuzüglich Mehrwertsteuer',
    category: 'Anlage',
    plan: {
      devices: { _all: { name: 'Nebenstelle', as: 'extension', rate: 8.9, prorate: byDay, taxes: [tax] } },
      phone_numbers: { _all: { name: 'Rufnummer', rate: 0.9, taxes: [tax] } },
    },
  },
]

export const wholesale: Plan = {
  name: 'Wholesale',
  description: 'What resellers pay for everything below them',
  category: 'Resale',
  plan: {
    devices: { _all: { name: 'Line', as: 'line', rate: 2.5, cascade: true } },
    phone_numbers: { _all: { name: 'Number', as: 'number', rate: 0.3, cascade: true } },
  },
}
