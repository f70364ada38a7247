// SPDX-License-Identifier: BSD-3-Clause
/* What the readers of XML ask of libxml2's nodes. Nobody else includes it. Collective:
 * no. Refuses to know: what any element means. */
#ifndef FC_TOPOLOGY_READ_XML_H
#define FC_TOPOLOGY_READ_XML_H

#include <libxml/tree.h>
#include <stdbool.h>
#include <string.h>

/* The attribute's text, or "" where there is none; borrowed from the document. */
static inline const char *fc_xml_attr(const xmlNode *node, const char *name)
{
    for (const xmlAttr *a = node->properties; a; a = a->next)
        if (strcmp((const char *)a->name, name) == 0 && a->children &&
            a->children->content)
            return (const char *)a->children->content;
    return "";
}

/* True for an element of that name. */
static inline bool fc_xml_is(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE &&
           strcmp((const char *)node->name, name) == 0;
}

#endif
