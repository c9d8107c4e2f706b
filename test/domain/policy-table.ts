/** Who may do what, as README.md shows it. The roles are those of a token of the namespace in question. */
export const policyTable = `
| action | about | anonymous | reader | publisher | admin | operator |
| --- | --- | --- | --- | --- | --- | --- |
| \`read\`, \`list\` | a public namespace; a public skill; a public collection; a server of a public namespace | yes | yes | yes | yes | yes |
| \`read\` | an unlisted skill | yes | yes | yes | yes | yes |
| \`list\` | an unlisted skill; an unlisted skill of a private namespace |  |  |  |  |  |
| \`read\`, \`list\` | a private namespace; a private skill; a skill of a private namespace; a private collection; a server of a private namespace |  | yes | yes | yes | yes |
| \`read\` | an unlisted skill of a private namespace |  | yes | yes | yes | yes |
| \`survey\` | anything of a namespace |  | yes | yes | yes | yes |
| \`publish\`, \`curate-collections\`, \`register-servers\` | anything of a namespace |  |  | yes | yes | yes |
| \`delete-skill\`, \`read-audit\`, \`see-statistics\`, \`manage-namespace\`, \`manage-tokens\`, \`manage-members\`, \`remove-member\`, \`manage-links\` | anything of a namespace |  |  |  | yes | yes |
| \`remove-member\` | another member |  |  |  | yes | yes |
| \`remove-member\` | oneself |  | yes | yes | yes | yes |
| \`set-quotas\`, \`map-groups\` | a public namespace; a private namespace |  |  |  |  | yes |
| \`create-namespace\` | creators = operator |  |  |  |  | yes |
| \`create-namespace\` | creators = tokens |  |  | yes | yes | yes |
| \`create-namespace\` | creators = anyone | yes | yes | yes | yes | yes |
`;
