"""The keys of tools and of JSON Schema: the order they are written in, and what stands below them.

``docs/canonical-form.md`` prints these tables; a test compares.
"""

from __future__ import annotations

from promptguard.core.light import Literal, Mapping

Role = Literal["schema", "properties", "map", "required", "tool", "tools", "holder", "literal", "other"]
"""What the value of a key is, which says how it is ordered.

``schema``: a JSON Schema, or a list of them. ``properties``: schemas by property name, in their own order. ``map``: schemas or
lists by name, in alphabetical order. ``required``: names, in the order of the properties. ``tool``: a tool without its wrapper.
``tools``: a list of tools, by name. ``holder``: an object that holds a list of tools. ``literal``: a value that is kept as it is.
``other``: a value whose objects have their keys in alphabetical order.
"""


class Vocabulary:
    """The keys of one kind of object.

    Attributes:
        roles: the known keys, in the order they are written in. The others follow, in alphabetical order.
        rest: the role of the others.
    """

    __slots__ = ("_ranks", "rest", "roles")

    def __init__(self, roles: Mapping[str, Role], rest: Role) -> None:
        self.roles = roles
        self.rest = rest
        self._ranks = {key: number for number, key in enumerate(roles)}

    def rank(self, key: str) -> tuple[int, str]:
        """What the keys of an object are sorted by."""
        return self._ranks.get(key, len(self._ranks)), key

    def role(self, key: str) -> Role:
        return self.roles.get(key, self.rest)


def _roles(keys: str, others: Mapping[Role, str]) -> dict[str, Role]:
    """The keys in their order, each with its role: that under which ``others`` names it, else ``other``."""
    named = {key: role for role, listed in others.items() for key in listed.split()}
    return {key: named.get(key, "other") for key in keys.split()}


# Draft 4 to 2020-12, what OpenAPI adds, and the spellings of Gemini (its SDK takes camel case and snake case).
SCHEMA = Vocabulary(
    _roles(
        """
        $schema $id id $anchor $dynamicAnchor $recursiveAnchor $vocabulary $comment
        $ref ref $dynamicRef $recursiveRef
        type title description format nullable
        const enum default
        minLength min_length maxLength max_length pattern contentEncoding contentMediaType contentSchema
        multipleOf minimum exclusiveMinimum maximum exclusiveMaximum
        prefixItems items additionalItems unevaluatedItems contains minContains maxContains
        minItems min_items maxItems max_items uniqueItems
        properties patternProperties additionalProperties additional_properties unevaluatedProperties propertyNames
        minProperties min_properties maxProperties max_properties propertyOrdering property_ordering
        required dependentRequired dependentSchemas dependencies
        allOf anyOf any_of oneOf not if then else
        deprecated readOnly writeOnly examples example
        definitions $defs defs
        """,
        {
            "schema": """
            contentSchema prefixItems items additionalItems unevaluatedItems contains
            additionalProperties additional_properties unevaluatedProperties propertyNames
            allOf anyOf any_of oneOf not if then else
            """,
            "properties": "properties",
            "map": "patternProperties dependentRequired dependentSchemas dependencies definitions $defs defs",
            "required": "required",
            "literal": "const enum default examples example",
        },
    ),
    "other",
)

# One order serves every dialect, because no two of them have the same key with another meaning.
TOOL = Vocabulary(
    _roles(
        """
        type function custom functionDeclarations function_declarations
        name title description behavior
        parameters parametersJsonSchema parameters_json_schema input_schema inputSchema
        response responseJsonSchema response_json_schema output_schema outputSchema
        strict input_examples tools annotations icons execution meta _meta cache_control
        """,
        {
            "tool": "function custom",
            "tools": "functionDeclarations function_declarations tools",
            "schema": """
            parameters parametersJsonSchema parameters_json_schema input_schema inputSchema
            response responseJsonSchema response_json_schema output_schema outputSchema
            """,
            "literal": "input_examples",
        },
    ),
    "other",
)

# What a request holds beside its tools (messages above all) is a record, and stays as it is.
HOLDER = Vocabulary(
    _roles(
        "jsonrpc id result tools functions nextCursor _meta",
        {"holder": "result", "tools": "tools functions", "literal": "id"},
    ),
    "literal",
)

OTHER = Vocabulary({}, "other")
