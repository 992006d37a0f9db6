// Run as a program by tests/support/rest_fixture.py: the Iceberg project's REST catalog, bound to 127.0.0.1. Its own main
// class listens on every address. Arguments are the backend catalog's properties, KEY=VALUE; the port is printed.

import java.lang.reflect.Constructor;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

public class LoopbackCatalog {
  public static void main(String[] arguments) throws Exception {
    Map<String, String> properties = new HashMap<>();
    for (String argument : arguments) {
      int split = argument.indexOf('=');
      properties.put(argument.substring(0, split), argument.substring(split + 1));
    }
    Catalog catalog = CatalogUtil.buildIcebergCatalog("backend", properties, new Configuration());
    ServletContextHandler handler = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    handler.addServlet(new ServletHolder(new RESTCatalogServlet(adapter(catalog, properties))), "/*");
    Server server = new Server(new InetSocketAddress("127.0.0.1", 0));
    server.setHandler(handler);
    server.start();
    System.out.println("PORT " + ((ServerConnector) server.getConnectors()[0]).getLocalPort());
    System.out.flush();
    // The parent closes this when it is done, or dead.
    while (System.in.read() >= 0) {}
    server.stop();
    System.exit(0);
  }

  // The adapter that hands out credentials is not public.
  private static RESTCatalogAdapter adapter(Catalog catalog, Map<String, String> properties) throws Exception {
    Class<?> context = Class.forName("org.apache.iceberg.rest.RESTCatalogServer$CatalogContext");
    Constructor<?> makeContext = context.getDeclaredConstructor(Catalog.class, Map.class);
    makeContext.setAccessible(true);
    Class<?> adapter = Class.forName("org.apache.iceberg.rest.RESTServerCatalogAdapter");
    Constructor<?> makeAdapter = adapter.getDeclaredConstructor(context);
    makeAdapter.setAccessible(true);
    return (RESTCatalogAdapter) makeAdapter.newInstance(makeContext.newInstance(catalog, properties));
  }
}
