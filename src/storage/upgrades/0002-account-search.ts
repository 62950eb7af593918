import type { Upgrade } from '../upgrades.ts'

const held = (name: string) =>
  `SELECT min(value) FROM claims c WHERE c.holder_account_id = account_tree.account_id
    AND c.kind = 'account' AND c.record_id = account_tree.account_id AND c.name = '${name}'`

/** Accounts below an ancestor are found by the beginning of their name, realm or id. */
export const accountSearch: Upgrade = {
  number: 2,
  title: 'search for accounts by name, realm and id',
  statements: ({ key }) => [
    `ALTER TABLE account_tree ADD COLUMN name_key ${key} NOT NULL DEFAULT ''`,
    `ALTER TABLE account_tree ADD COLUMN realm_key ${key} NOT NULL DEFAULT ''`,
    `UPDATE account_tree SET name_key = COALESCE((${held('account_name')}), '')`,
    `UPDATE account_tree
      SET realm_key = replace(replace(replace(COALESCE((${held('realm')}), ''), '.', ''), '-', ''), '_', '')`,
    'CREATE INDEX account_tree_names ON account_tree (ancestor_id, name_key, account_id)',
    'CREATE INDEX account_tree_realms ON account_tree (ancestor_id, realm_key, account_id)',
    'CREATE INDEX account_tree_ids ON account_tree (ancestor_id, account_id)',
  ],
}
